//! Webhook deliveries. Operators see why a receiver was not reached; customers do not.

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

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Delivery {
    pub id: String,
    pub organization: String,
    /// Event ID, which the receiver sees as `webhook-id`.
    pub event: String,
    /// Type of the event.
    pub kind: String,
    /// Webhook ID; `None` for a job's callback.
    pub webhook: Option<String>,
    pub url: String,
    pub state: String,
    /// Finished attempts.
    pub attempts: i64,
    /// Next attempt; `None` if none is pending.
    #[serde(serialize_with = "super::maybe_time")]
    pub next_at: Option<Millis>,
    /// Last attempt.
    #[serde(serialize_with = "super::maybe_time")]
    pub last_at: Option<Millis>,
    pub last_status: Option<i64>,
    /// Why the last attempt got no response.
    pub last_error: Option<String>,
    /// Duration of the last attempt, in milliseconds.
    pub last_took_ms: Option<i64>,
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Detail {
    #[serde(flatten)]
    pub delivery: Delivery,
    /// First attempt.
    #[serde(serialize_with = "super::maybe_time")]
    pub first_at: Option<Millis>,
    /// Body to send; for a delivery about rows, the range of the rows.
    pub body: String,
    /// Start of the last response's body.
    pub last_answer: String,
    /// Attempts before the last, newest first.
    pub earlier_attempts: Vec<Attempt>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempt {
    /// Start of the attempt.
    #[serde(serialize_with = "super::time")]
    pub at: Millis,
    pub url: String,
    /// HTTP status of the response.
    pub status: Option<i64>,
    /// Why there was no response.
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub took_ms: i64,
    /// Start of the response's body.
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

/// Summarizes the last attempt.
fn last(one: &Delivery) -> String {
    let status = one.last_status.map(|status| status.to_string());
    status.or_else(|| one.last_error.clone()).unwrap_or_else(|| "none".to_owned())
}

/// Formats one delivery for people. Body and response are untrusted text, so control characters are removed.
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
