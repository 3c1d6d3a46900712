//! Messages to customers' servers. The operator sees why a receiver was not reached; customers do not.

use std::fmt::Write as _;

use clap::ValueEnum;
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::DeliveriesCommand;
use crate::output::plain;

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeliveryState {
    /// Pending
    Waiting,
    /// Accepted by the endpoint
    Delivered,
    /// Failed after the last attempt
    Exhausted,
    /// Canceled before it was delivered
    Cancelled,
}

/// A message as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Delivery {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub organization: String,
    /// The event that it tells of, which the receiver sees as `webhook-id`.
    pub event: String,
    /// What sort of event.
    pub kind: String,
    /// The webhook to which it goes; `None` for a batch's own URL.
    pub webhook: Option<String>,
    /// Where it goes.
    pub url: String,
    /// Where it stands.
    pub state: String,
    /// How many attempts have come to an end.
    pub attempts: i64,
    /// When it is tried next; `None` where it waits for nothing.
    #[serde(serialize_with = "super::maybe_time")]
    pub next_at: Option<Millis>,
    /// When it was tried last.
    #[serde(serialize_with = "super::maybe_time")]
    pub last_at: Option<Millis>,
    /// The HTTP status of the last answer.
    pub last_status: Option<i64>,
    /// Why the last attempt got no answer.
    pub last_error: Option<String>,
    /// How long the last attempt took, in milliseconds.
    pub last_took_ms: Option<i64>,
    /// When it was made.
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
}

/// A message with all that is known of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Detail {
    /// The message.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// When it was tried first.
    #[serde(serialize_with = "super::maybe_time")]
    pub first_at: Option<Millis>,
    /// What is sent; of a message about rows, which those are.
    pub body: String,
    /// How the body of the last answer begins.
    pub last_answer: String,
    /// The attempts before the last one, the newest first.
    pub earlier_attempts: Vec<Attempt>,
}

/// An attempt before the last one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempt {
    /// When it began.
    #[serde(serialize_with = "super::time")]
    pub at: Millis,
    /// Where it went.
    pub url: String,
    /// The HTTP status of the answer.
    pub status: Option<i64>,
    /// Why there was none.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: i64,
    /// How the body of the answer begins.
    pub answer: String,
}

pub(super) fn request(command: &DeliveriesCommand) -> Request {
    match command {
        DeliveriesCommand::List { org, state, limit } => {
            Request::ListDeliveries { org: org.org.clone(), state: *state, limit: *limit }
        }
        DeliveriesCommand::Show(one) => {
            Request::ShowDelivery { org: one.org.org.clone(), delivery: one.delivery.clone() }
        }
        DeliveriesCommand::Resend(one) => {
            Request::ResendDelivery { org: one.org.org.clone(), delivery: one.delivery.clone() }
        }
    }
}

pub(super) fn table(deliveries: &[Delivery]) -> String {
    let row = |one: &Delivery| {
        let next = one.next_at.map_or_else(|| "never".to_owned(), moment_text);
        vec![one.id.clone(), one.state.clone(), one.attempts.to_string(), last(one), next, one.url.clone()]
    };
    table::lines(&["ID", "STATE", "ATTEMPTS", "LAST", "NEXT", "URL"], deliveries.iter().map(row))
}

/// What the last attempt came to.
fn last(one: &Delivery) -> String {
    let status = one.last_status.map(|status| status.to_string());
    status.or_else(|| one.last_error.clone()).unwrap_or_else(|| "none".to_owned())
}

/// One message for people. Body and answer are text of others, so nothing of them steers the terminal.
pub(super) fn shown(detail: &Detail) -> String {
    let Detail { delivery, first_at, body, last_answer, earlier_attempts } = detail;
    let time = |at: Option<Millis>| at.map_or_else(|| "never".to_owned(), moment_text);
    let took = delivery.last_took_ms.map(|ms| format!(" in {ms} ms")).unwrap_or_default();
    let rows = [
        ("id", delivery.id.clone()),
        ("organization", delivery.organization.clone()),
        ("webhook-id", delivery.event.clone()),
        ("kind", delivery.kind.clone()),
        ("webhook", delivery.webhook.clone().unwrap_or_else(|| "none".to_owned())),
        ("url", delivery.url.clone()),
        ("state", delivery.state.clone()),
        ("attempts", delivery.attempts.to_string()),
        ("created", moment_text(delivery.created_at)),
        ("first attempt", time(*first_at)),
        ("last attempt", time(delivery.last_at)),
        ("last result", format!("{}{took}", last(delivery))),
        ("next attempt", time(delivery.next_at)),
        ("body", body.clone()),
        ("last response", last_answer.clone()),
    ];
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name:<14} {}", plain(&value));
    }
    for one in earlier_attempts {
        let came = one.status.map(|status| status.to_string()).or_else(|| one.error.clone()).unwrap_or_default();
        let line = format!("{} {came} in {} ms, {} {}", moment_text(one.at), one.took_ms, one.url, one.answer);
        let _ = writeln!(text, "{:<14} {}", "before", plain(line.trim_end()));
    }
    text
}
