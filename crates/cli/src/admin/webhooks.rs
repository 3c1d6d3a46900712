//! Webhooks of organizations: endpoints that receive the events they subscribe to.

use anyhow::{Result, anyhow};
use probity_account::id::WebhookId;
use probity_account::webhook::Topic;
use probity_contract::page::PageQuery;
use probity_contract::published::webhooks::{CreateWebhook, TopicName, WebhookPatch, WebhookShown, WebhookStatus};
use probity_contract::timestamp::Timestamp;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::operator::deliveries::inspect_delivery;
use probity_service::store::OrgRecord;
use probity_service::webhooks::acts::{
    change_webhook, create_webhook, delete_webhook, list_webhooks, rotate_webhook_secret,
};
use probity_service::webhooks::deliveries::send_test_event;
use serde::Serialize;
use serde_json::Value;

use super::LocalOperator;
use super::deliveries::DELIVERIES;
use super::operator::{DeletedObject, MarkedObject, OrMissing as _, each_with_org, print_one, staff};
use crate::args::{OrgFlag, WebhookArg, WebhooksCommand};
use crate::output::plain;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, field, made, moment, time_or};

const WEBHOOKS: &[AnswerColumn] = &[
    at("WEBHOOK", "/id"),
    at("STATUS", "/status"),
    made("EVENTS OF", |one| if one["test"] == true { "test jobs" } else { "live jobs" }.to_owned()),
    time_or("LAST DELIVERY", "/last_delivery_at", "never"),
    at("URL", "/url"),
    at("NAME", "/name"),
];

/// A webhook with its new secret.
#[derive(Serialize)]
struct RotatedSecret {
    #[serde(flatten)]
    webhook: MarkedObject<WebhookShown>,
    secret: String,
    /// Time until which the previous secret also signs.
    previous_until: Timestamp,
}

pub(super) async fn run(operator: &LocalOperator<'_>, command: &WebhooksCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        WebhooksCommand::List(some) => list(operator, some).await,
        WebhooksCommand::Create { url, name, event, test, org } => {
            let caller = staff(operator.choose_org(org).await?, *test);
            let asked = read_new_webhook(url, name, event);
            let made = create_webhook(app, &caller, &Once::unkeyed(), asked).await?;
            print_one(&caller, MarkedObject { test: *test, object: made }, SIGNED)
        }
        WebhooksCommand::Pause(one) => set_status(operator, one, WebhookStatus::Disabled).await,
        WebhooksCommand::Resume(one) => set_status(operator, one, WebhookStatus::Active).await,
        WebhooksCommand::Remove(one) => {
            let (caller, webhook) = reach(operator, one).await?;
            let removed = delete_webhook(app, &caller, webhook.object.id).await;
            let deleted = removed.or_missing(missing(one))?.deleted;
            print_one(&caller, DeletedObject { answer: webhook, deleted }, REMOVED)
        }
        WebhooksCommand::Test(one) => {
            let (caller, webhook) = reach(operator, one).await?;
            let sent =
                send_test_event(app, &caller, webhook.object.id, &Once::unkeyed()).await.or_missing(missing(one))?;
            print_one(&caller, inspect_delivery(app, caller.org_id(), sent.id).await?, AnswerView::Rows(DELIVERIES))
        }
        WebhooksCommand::Rotate(one) => {
            let (caller, webhook) = reach(operator, one).await?;
            let rotated = rotate_webhook_secret(app, &caller, webhook.object.id, &Once::unkeyed())
                .await
                .or_missing(missing(one))?;
            let rotated = RotatedSecret { webhook, secret: rotated.secret, previous_until: rotated.previous_until };
            print_one(&caller, rotated, SIGNED)
        }
    }
}

/// Lists the webhooks of live keys, then those of test keys.
async fn list(operator: &LocalOperator<'_>, some: &OrgFlag) -> Result<Printout> {
    let org = operator.choose_org(some).await?;
    let mut all = Vec::new();
    for test in [false, true] {
        let (caller, found) = read_sort(operator, &org, test).await?;
        all.extend(each_with_org(&caller, found));
    }
    Printout::of(all, AnswerView::Rows(WEBHOOKS))
}

/// Returns all webhooks of one sort, and the operator as the caller who sees them.
async fn read_sort(
    operator: &LocalOperator<'_>,
    org: &OrgRecord,
    test: bool,
) -> Result<(Caller, Vec<MarkedObject<WebhookShown>>)> {
    let caller = staff(org.clone(), test);
    // All webhooks are one page.
    let page = PageQuery { per_page: u32::MAX, cursor: None };
    let found = list_webhooks(operator.app, &caller, page).await?.data;
    Ok((caller, found.into_iter().map(|webhook| MarkedObject { test, object: webhook }).collect()))
}

fn read_new_webhook(url: &str, name: &str, events: &[Topic]) -> CreateWebhook {
    let events = events.iter().copied().map(TopicName).collect();
    CreateWebhook { name: name.to_owned(), url: url.to_owned(), events }
}

async fn set_status(operator: &LocalOperator<'_>, one: &WebhookArg, status: WebhookStatus) -> Result<Printout> {
    let (caller, MarkedObject { test, object: webhook }) = reach(operator, one).await?;
    let patch = WebhookPatch { name: None, url: None, events: None, status: Some(status) };
    let webhook = change_webhook(operator.app, &caller, webhook.id, patch).await.or_missing(missing(one))?;
    print_one(&caller, MarkedObject { test, object: webhook }, AnswerView::Rows(WEBHOOKS))
}

/// Returns the caller for an act on a webhook of either sort, and the webhook as it is before the act. The answers of acts leave
/// the sort out, so the webhook is looked up in the lists of both.
async fn reach(operator: &LocalOperator<'_>, one: &WebhookArg) -> Result<(Caller, MarkedObject<WebhookShown>)> {
    let org = operator.choose_org(&one.org).await?;
    let id: WebhookId = one.webhook.parse().map_err(|_| missing(one)())?;
    for test in [false, true] {
        let (caller, found) = read_sort(operator, &org, test).await?;
        if let Some(webhook) = found.into_iter().find(|found| found.object.id == id) {
            return Ok((caller, webhook));
        }
    }
    Err(missing(one)())
}

fn missing(one: &WebhookArg) -> impl Fn() -> anyhow::Error {
    || anyhow!("there is no webhook {}; `probity webhooks list` shows all", one.webhook)
}

/// A removed webhook for people.
const REMOVED: AnswerView =
    AnswerView::Text(|one| format!("{}\n{} is removed\n", table::rows(WEBHOOKS, [one]), field(one, "/id")));

/// A new secret for people, of a new webhook or after a rotation.
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
