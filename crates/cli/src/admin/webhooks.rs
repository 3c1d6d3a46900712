//! Webhooks of organizations: endpoints that receive the events they subscribe to.

use std::fmt::Write as _;

use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::WebhooksCommand;
use crate::output::plain;

/// Webhook commands; texts are webhook IDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    List,
    Create(NewWebhook),
    /// Stops deliveries until the webhook is resumed.
    Pause(String),
    Resume(String),
    Remove(String),
    /// Sends a test event.
    Test(String),
    /// Creates a new signing secret.
    Rotate(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewWebhook {
    pub name: String,
    pub url: String,
    pub events: Vec<Topic>,
    /// Receives events of test keys.
    pub test: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Webhook {
    pub id: String,
    pub organization: String,
    pub name: String,
    pub url: String,
    pub events: Vec<String>,
    /// Receives only events of test keys.
    pub test: bool,
    /// Status as in the API.
    pub status: String,
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
    /// Last successful delivery.
    #[serde(serialize_with = "super::maybe_time")]
    pub last_delivery_at: Option<Millis>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Signed {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Signing secret, shown once.
    pub secret: String,
    /// Time until which the previous secret also signs; `None` if there was none.
    #[serde(serialize_with = "super::maybe_time")]
    pub previous_until: Option<Millis>,
}

pub(super) fn request(command: &WebhooksCommand) -> Request {
    let (org, wish) = match command {
        WebhooksCommand::List(some) => (some, Wish::List),
        WebhooksCommand::Create { url, name, event, test, org } => {
            let new = NewWebhook { name: name.clone(), url: url.clone(), events: event.clone(), test: *test };
            (org, Wish::Create(new))
        }
        WebhooksCommand::Pause(one) => (&one.org, Wish::Pause(one.webhook.clone())),
        WebhooksCommand::Resume(one) => (&one.org, Wish::Resume(one.webhook.clone())),
        WebhooksCommand::Remove(one) => (&one.org, Wish::Remove(one.webhook.clone())),
        WebhooksCommand::Test(one) => (&one.org, Wish::Test(one.webhook.clone())),
        WebhooksCommand::Rotate(one) => (&one.org, Wish::Rotate(one.webhook.clone())),
    };
    Request::Webhooks { org: org.org.clone(), wish }
}

pub(super) fn table(webhooks: &[Webhook]) -> String {
    let row = |one: &Webhook| {
        let told = if one.test { "test jobs" } else { "live jobs" };
        let last = one.last_delivery_at.map_or_else(|| "never".to_owned(), moment_text);
        vec![one.id.clone(), one.status.clone(), told.to_owned(), last, one.url.clone(), one.name.clone()]
    };
    table::lines(&["WEBHOOK", "STATUS", "EVENTS OF", "LAST DELIVERY", "URL", "NAME"], webhooks.iter().map(row))
}

/// Formats the webhook with its secret.
pub(super) fn shown(signed: &Signed) -> String {
    let Signed { webhook, secret, previous_until } = signed;
    let mut text = format!("Deliveries to {} are signed with this secret", plain(&webhook.url));
    if let Some(until) = previous_until {
        let _ = write!(text, ", and with the previous one until {}", moment_text(*until));
    }
    let _ = write!(text, ". Save it; it is shown once.\n\n    {secret}\n\nwebhook: {}\n", webhook.id);
    text
}
