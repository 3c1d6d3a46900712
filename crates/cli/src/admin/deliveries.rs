//! Webhook deliveries. Operators see why a receiver was not reached; customers do not.

use anyhow::{Result, anyhow};
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use probity_account::id::DeliveryId;
use probity_service::app::App;
use probity_service::operator::deliveries::{inspect_deliveries, inspect_delivery, resend_any_delivery};
use probity_service::store::OutboxState;
use serde_json::Value;

use super::operator::{OrMissing as _, act_for, print_one, print_rows};
use super::{OrgFlag, meaning, one_of};
use crate::output::plain;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, field_or, made, moment, time, time_or};

/// Shown below the help of `deliveries`.
pub(super) const DELIVERIES_EXAMPLES: &str = "\
Examples:
    probity deliveries list --state exhausted
    probity deliveries show dlv_01h455vb4pex5vsknk084sn02q
    probity deliveries resend dlv_01h455vb4pex5vsknk084sn02q";

#[derive(Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// List deliveries, newest first
    List {
        #[command(flatten)]
        org: OrgFlag,
        /// Filter by state
        #[arg(long, value_parser = state())]
        state: Option<OutboxState>,
        /// Maximum number of deliveries
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a delivery with its body and the beginning of the last response
    Show(DeliveryArg),
    /// Resend a delivery, with all its attempts again; needs a running service
    Resend(DeliveryArg),
}

#[derive(Debug, Args)]
pub(crate) struct DeliveryArg {
    /// Delivery ID
    #[arg(value_name = "DELIVERY_ID")]
    pub delivery: String,
    #[command(flatten)]
    pub org: OrgFlag,
}

fn state() -> impl TypedValueParser<Value = OutboxState> {
    let names = [
        meaning("waiting", "Pending"),
        meaning("delivered", "Accepted by the endpoint"),
        meaning("exhausted", "Failed after the last attempt"),
        meaning("cancelled", "Canceled before it was delivered"),
    ];
    one_of(names, |name| name.parse().ok())
}

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

pub(super) async fn run(app: &App, command: &DeliveriesCommand) -> Result<Printout> {
    match command {
        DeliveriesCommand::List { org, state, limit } => {
            let caller = act_for(app, org).await?;
            print_rows(&caller, inspect_deliveries(app, caller.org_id(), *state, *limit).await?, DELIVERIES)
        }
        DeliveriesCommand::Show(one) => {
            let caller = act_for(app, &one.org).await?;
            let shown = inspect_delivery(app, caller.org_id(), read_id(one)?).await.or_missing(|| missing(one))?;
            print_one(&caller, shown, SHOWN)
        }
        DeliveriesCommand::Resend(one) => {
            let caller = act_for(app, &one.org).await?;
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

/// View of a delivery, with a line per earlier attempt.
pub(super) const SHOWN: AnswerView = AnswerView::Text(|delivery| {
    let earlier = delivery["earlier_attempts"].as_array().into_iter().flatten();
    let line = |one: &Value| {
        let came = field_or(one, "/status", &field(one, "/error"));
        let [took, url, answer] = ["/took_ms", "/url", "/answer"].map(|pointer| field(one, pointer));
        let line = format!("{} {came} in {took} ms, {url} {answer}", moment(one, "/at"));
        format!("{:<16}  {}\n", "before", plain(line.trim_end()))
    };
    table::fields(DELIVERY, delivery) + &earlier.map(line).collect::<String>()
});

/// Summarizes the last attempt.
fn last(delivery: &Value) -> String {
    field_or(delivery, "/last_status", &field_or(delivery, "/last_error", "none"))
}

fn last_result(delivery: &Value) -> String {
    match field(delivery, "/last_took_ms") {
        took if took.is_empty() => last(delivery),
        took => format!("{} in {took} ms", last(delivery)),
    }
}
