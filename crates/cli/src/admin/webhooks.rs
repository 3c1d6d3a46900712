//! Webhooks of organizations: endpoints that receive the events they subscribe to.

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use probity_account::webhook::Topic;
use probity_contract::published::webhooks::{CreateWebhook, TopicName, WebhookPatch, WebhookShown, WebhookStatus};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::operator::deliveries::inspect_delivery;
use probity_service::webhooks::acts::{
    change_webhook, create_webhook, delete_webhook, list_webhooks, rotate_webhook_secret,
};
use probity_service::webhooks::deliveries::send_test_event;
use serde_json::Value;

use super::deliveries::DELIVERIES;
use super::operator::{OrMissing as _, WHOLE, choose_org, marked, print_both, print_one, read_both, staff};
use super::{OrgFlag, name};
use crate::output::plain;
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::{AnswerColumn, at, field, made, moment, time_or};

/// Shown below the help of `webhooks`.
pub(super) const WEBHOOKS_EXAMPLES: &str = "\
Examples:
    probity webhooks create https://crm.example.com/probity --name 'Our CRM' --event job.finished --event status.passed
    probity webhooks test whk_01h455vb4pex5vsknk084sn02q
    probity webhooks pause whk_01h455vb4pex5vsknk084sn02q
    probity webhooks rotate whk_01h455vb4pex5vsknk084sn02q --json | jq -r .secret";

#[derive(Debug, Args)]
pub(crate) struct WebhookArg {
    /// Webhook ID
    #[arg(value_name = "WEBHOOK_ID")]
    pub webhook: String,
    #[command(flatten)]
    pub org: OrgFlag,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// List webhooks, newest first, without secrets
    List(OrgFlag),
    /// Create a webhook and print its secret once
    Create {
        /// URL that receives the events
        url: String,
        /// Displayed name
        #[arg(long, value_parser = name)]
        name: String,
        /// Event to send; repeatable
        #[arg(id = "events", long = "event", required = true, value_name = "EVENT", value_parser = event)]
        event: Vec<Topic>,
        /// Send only the events of test keys
        #[arg(long)]
        test: bool,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Pause a webhook: send nothing until it is resumed, and cancel pending deliveries
    Pause(WebhookArg),
    /// Resume a webhook and reset its failure count
    Resume(WebhookArg),
    /// Send a test event; needs a running service, and `deliveries list` shows the outcome
    Test(WebhookArg),
    /// Create a new secret and print it once; both secrets sign for a day
    Rotate(WebhookArg),
    /// Remove a webhook and its log permanently
    Remove(WebhookArg),
}

/// Parses an event of the API.
fn event(text: &str) -> Result<Topic, String> {
    text.parse().map_err(|_| {
        let names: Vec<String> = Topic::all().map(|topic| topic.to_string()).collect();
        format!("must be one of {}", names.join(", "))
    })
}

const WEBHOOKS: &[AnswerColumn] = &[
    at("WEBHOOK", "/id"),
    at("STATUS", "/status"),
    made("EVENTS OF", |one| if one["test"] == true { "test jobs" } else { "live jobs" }.to_owned()),
    time_or("LAST DELIVERY", "/last_delivery_at", "never"),
    at("URL", "/url"),
    at("NAME", "/name"),
];

pub(super) async fn run(app: &App, command: &WebhooksCommand) -> Result<Printout> {
    match command {
        WebhooksCommand::List(some) => print_both(&read_all(app, some).await?, WEBHOOKS),
        WebhooksCommand::Create { url, name, event, test, org } => {
            let caller = staff(choose_org(app, org).await?, *test);
            let asked = read_new_webhook(url, name, event);
            let made = create_webhook(app, &caller, &Once::unkeyed(), asked).await?;
            print_one(&caller, marked(&caller, made), SIGNED)
        }
        WebhooksCommand::Pause(one) => set_status(app, one, WebhookStatus::Disabled).await,
        WebhooksCommand::Resume(one) => set_status(app, one, WebhookStatus::Active).await,
        WebhooksCommand::Remove(one) => {
            let (caller, webhook) = reach(app, one).await?;
            let deleted = delete_webhook(app, &caller, webhook.id).await.or_missing(missing(one))?.deleted;
            let removed = join(marked(&caller, webhook), OneField("deleted", deleted));
            print_one(&caller, removed, AnswerView::Removed(WEBHOOKS))
        }
        WebhooksCommand::Test(one) => {
            let (caller, webhook) = reach(app, one).await?;
            let sent = send_test_event(app, &caller, webhook.id, &Once::unkeyed()).await.or_missing(missing(one))?;
            print_one(&caller, inspect_delivery(app, caller.org_id(), sent.id).await?, AnswerView::Rows(DELIVERIES))
        }
        WebhooksCommand::Rotate(one) => {
            let (caller, webhook) = reach(app, one).await?;
            let rotated = rotate_webhook_secret(app, &caller, webhook.id, &Once::unkeyed()).await;
            let rotated = rotated.or_missing(missing(one))?;
            let secret = join(OneField("secret", rotated.secret), OneField("previous_until", rotated.previous_until));
            let rotated = join(marked(&caller, webhook), secret);
            print_one(&caller, rotated, SIGNED)
        }
    }
}

fn read_new_webhook(url: &str, name: &str, events: &[Topic]) -> CreateWebhook {
    let events = events.iter().copied().map(TopicName).collect();
    CreateWebhook { name: name.to_owned(), url: url.to_owned(), events }
}

async fn set_status(app: &App, one: &WebhookArg, status: WebhookStatus) -> Result<Printout> {
    let (caller, webhook) = reach(app, one).await?;
    let patch = WebhookPatch { name: None, url: None, events: None, status: Some(status) };
    let webhook = change_webhook(app, &caller, webhook.id, patch).await.or_missing(missing(one))?;
    print_one(&caller, marked(&caller, webhook), AnswerView::Rows(WEBHOOKS))
}

/// Returns the caller for an act on a live or test webhook, and the webhook before the act. Results of acts omit its mode, so the
/// webhook is looked up in both lists.
async fn reach(app: &App, one: &WebhookArg) -> Result<(Caller, WebhookShown)> {
    let (all, id) = (read_all(app, &one.org).await?, one.webhook.parse().ok());
    all.into_iter().find(|(_, webhook)| Some(webhook.id) == id).ok_or_else(missing(one))
}

async fn read_all(app: &App, some: &OrgFlag) -> Result<Vec<(Caller, WebhookShown)>> {
    read_both(app, some, async |caller| Ok(list_webhooks(app, caller, WHOLE).await?.data)).await
}

fn missing(one: &WebhookArg) -> impl Fn() -> anyhow::Error {
    || anyhow!("there is no webhook {}; `probity webhooks list` shows all", one.webhook)
}

/// View of a new secret, of a new webhook or after a rotation.
const SIGNED: AnswerView = AnswerView::Text(|signed: &Value| {
    let (id, url) = (field(signed, "/id"), plain(&field(signed, "/url")));
    let also = match moment(signed, "/previous_until") {
        until if until.is_empty() => String::new(),
        until => format!(", and with the previous one until {until}"),
    };
    let secret = field(signed, "/secret");
    format!(
        "Deliveries to {url} are signed with this secret{also}. Save it; it is shown once.\n\n    {secret}\n\nwebhook: {id}\n"
    )
});
