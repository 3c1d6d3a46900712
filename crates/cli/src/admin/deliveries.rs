//! Webhook deliveries. Operators see why a receiver was not reached; customers do not.

use anyhow::{Result, anyhow};
use probity_account::id::DeliveryId;
use probity_service::operator::deliveries::{inspect_deliveries, inspect_delivery, resend_any_delivery};
use serde_json::Value;

use super::LocalOperator;
use super::operator::{OrMissing as _, print_one, print_rows};
use crate::args::{DeliveriesCommand, DeliveryArg};
use crate::output::plain;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, made, moment, time, time_or};

pub(super) const DELIVERIES: &[AnswerColumn] = &[
    at("ID", "/id"),
    at("STATE", "/state"),
    at("ATTEMPTS", "/attempts"),
    made("LAST", last),
    time_or("NEXT", "/next_at", "never"),
    at("URL", "/url"),
];

const DELIVERY: &[AnswerColumn] = &[
    at("id", "/id"),
    at("organization", "/organization"),
    at("webhook-id", "/event"),
    at("kind", "/kind"),
    at_or("webhook", "/webhook", "none"),
    at("url", "/url"),
    at("state", "/state"),
    at("attempts", "/attempts"),
    time("created", "/created_at"),
    time_or("first attempt", "/first_at", "never"),
    time_or("last attempt", "/last_at", "never"),
    made("last result", last_result),
    time_or("next attempt", "/next_at", "never"),
    at("body", "/body"),
    at("last response", "/last_answer"),
];

pub(super) async fn run(operator: &LocalOperator<'_>, command: &DeliveriesCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        DeliveriesCommand::List { org, state, limit } => {
            let caller = operator.act_for(org).await?;
            print_rows(&caller, inspect_deliveries(app, caller.org_id(), *state, *limit).await?, DELIVERIES)
        }
        DeliveriesCommand::Show(one) => {
            let caller = operator.act_for(&one.org).await?;
            let shown = inspect_delivery(app, caller.org_id(), read_id(one)?).await.or_missing(|| missing(one))?;
            print_one(&caller, shown, SHOWN)
        }
        DeliveriesCommand::Resend(one) => {
            let caller = operator.act_for(&one.org).await?;
            let resent = resend_any_delivery(app, caller.org_id(), read_id(one)?).await.or_missing(|| missing(one))?;
            print_one(&caller, resent, AnswerView::Rows(DELIVERIES))
        }
    }
}

fn read_id(one: &DeliveryArg) -> Result<DeliveryId> {
    one.delivery.parse().map_err(|_| missing(one))
}

fn missing(one: &DeliveryArg) -> anyhow::Error {
    anyhow!("there is no delivery {}; `probity deliveries list` shows the last ones", one.delivery)
}

/// A delivery for people, with a line per earlier attempt.
pub(super) const SHOWN: AnswerView = AnswerView::Text(|delivery| {
    let earlier = delivery["earlier_attempts"].as_array().into_iter().flatten();
    let line = |one: &Value| {
        let came = Some(field(one, "/status")).filter(|came| !came.is_empty());
        let came = came.unwrap_or_else(|| field(one, "/error"));
        let [took, url, answer] = ["/took_ms", "/url", "/answer"].map(|pointer| field(one, pointer));
        let line = format!("{} {came} in {took} ms, {url} {answer}", moment(one, "/at"));
        format!("{:<16}  {}\n", "before", plain(line.trim_end()))
    };
    table::fields(DELIVERY, delivery) + &earlier.map(line).collect::<String>()
});

/// Summarizes the last attempt.
fn last(delivery: &Value) -> String {
    let told = ["/last_status", "/last_error"].map(|pointer| field(delivery, pointer));
    told.into_iter().find(|text| !text.is_empty()).unwrap_or_else(|| "none".to_owned())
}

fn last_result(delivery: &Value) -> String {
    match field(delivery, "/last_took_ms") {
        took if took.is_empty() => last(delivery),
        took => format!("{} in {took} ms", last(delivery)),
    }
}
