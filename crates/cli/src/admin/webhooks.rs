//! Webhooks of organizations: servers that are told of what they have subscribed to.

use std::fmt::Write as _;

use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::WebhooksCommand;
use crate::output::plain;

/// What is asked about webhooks; texts are their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// All of them.
    List,
    /// A new one.
    Create(NewWebhook),
    /// One is told nothing until it is resumed.
    Pause(String),
    /// It is told again.
    Resume(String),
    /// It is no more.
    Remove(String),
    /// It gets a message to try it.
    Test(String),
    /// It gets a new secret.
    Rotate(String),
}

/// A webhook to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewWebhook {
    /// What it is called.
    pub name: String,
    /// Where messages go.
    pub url: String,
    /// What it is told of.
    pub events: Vec<Topic>,
    /// Whether it is told of what test keys start.
    pub test: bool,
}

/// A webhook as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Webhook {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub organization: String,
    /// What its owner calls it.
    pub name: String,
    /// Where messages go.
    pub url: String,
    /// What it is told of.
    pub events: Vec<String>,
    /// Whether it is told of what test keys start, and of nothing else.
    pub test: bool,
    /// Whether it is told anything, in the API's words.
    pub status: String,
    /// When it was made.
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
    /// When it last took a message.
    #[serde(serialize_with = "super::maybe_time")]
    pub last_delivery_at: Option<Millis>,
}

/// A webhook with a secret that nothing else shows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Signed {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What its messages are signed with.
    pub secret: String,
    /// Until when the secret before signs too; `None` where there was none.
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

/// The webhook, and its secret below it.
pub(super) fn shown(signed: &Signed) -> String {
    let Signed { webhook, secret, previous_until } = signed;
    let mut text = format!("Deliveries to {} are signed with this secret", plain(&webhook.url));
    if let Some(until) = previous_until {
        let _ = write!(text, ", and with the previous one until {}", moment_text(*until));
    }
    let _ = write!(text, ". Save it; it is shown once.\n\n    {secret}\n\nwebhook: {}\n", webhook.id);
    text
}
