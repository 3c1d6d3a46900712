//! Usage and timeline.

use anyhow::{Result, anyhow};
use probity_contract::published::activity::timeline::{Summary, Timeline, Window};
use probity_service::activity::breakdown::get_usage_breakdown;
use probity_service::activity::reports::{get_daily_usage, get_usage};
use probity_service::activity::timeline::get_timeline;
use probity_service::lists::providers::count_providers;
use serde::Serialize;
use serde_json::Value;

use super::LocalOperator;
use super::operator::{OrMissing as _, query};
use crate::args::{TimelineArgs, UsageCommand};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, made, time};

const PERIOD: &[AnswerColumn] = &[
    at("period", "/period"),
    time("from", "/range/start"),
    time("to", "/range/end"),
    at("connection", "/connection_id"),
    at("verified", "/total"),
    at("passed", "/statuses/passed"),
    at("undeliverable", "/statuses/undeliverable"),
    at("risky", "/statuses/risky"),
    at("unknown", "/statuses/unknown"),
];

const DAYS: &[AnswerColumn] = &[
    at("DAY", "/date"),
    at("VERIFIED", "/total"),
    at("PASSED", "/statuses/passed"),
    at("UNDELIVERABLE", "/statuses/undeliverable"),
    at("RISKY", "/statuses/risky"),
    at("UNKNOWN", "/statuses/unknown"),
];

const PROVIDERS: &[AnswerColumn] = &[
    at_or("PROVIDER", "/id", "other"),
    at_or("NAME", "/name", "others"),
    at("VERIFIED", "/verified"),
    at("UNKNOWN", "/unknown"),
];

const EVENTS: &[AnswerColumn] = &[
    time("AT", "/at"),
    at("WHAT", "/type"),
    made("WHO", |event| {
        let who = [field(event, "/actor/type"), field(event, "/actor/id")].join(" ");
        if who.trim().is_empty() { "unknown".to_owned() } else { who.trim().to_owned() }
    }),
    made("DETAIL", detail),
];

const SUMMARY: &[AnswerColumn] = &[
    time("from", "/window/since"),
    time("to", "/window/until"),
    at("jobs", "/summary/jobs"),
    at("changed settings", "/summary/settings_changes"),
    at("account events", "/summary/account_events"),
];

fn detail(event: &Value) -> String {
    let or = |pointer, otherwise: &str| match field(event, pointer) {
        text if text.is_empty() => otherwise.to_owned(),
        text => text,
    };
    match event["type"].as_str() {
        Some("job") => {
            let [id, status] = ["/job/id", "/job/status"].map(|pointer| field(event, pointer));
            format!("{id} {status}, by {}", or("/trigger", "unknown"))
        }
        Some("settings_change") => {
            format!("{}: {} to {}", field(event, "/setting"), or("/before", "none"), or("/after", "none"))
        }
        _ => field(event, "/kind"),
    }
}

pub(super) async fn usage(operator: &LocalOperator<'_>, command: &UsageCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        UsageCommand::Report { period, connection, org } => {
            let asked = [Some(("period", period.as_str())), connection.as_deref().map(|id| ("connection_id", id))];
            let asked = query(&asked.into_iter().flatten().collect::<Vec<_>>())?;
            let caller = operator.act_for(org).await?;
            Printout::one(get_usage(app, &caller, asked).await.or_missing(no_connection)?, USAGE)
        }
        UsageCommand::Daily { days, connection, org } => {
            let days = days.to_string();
            let asked = [Some(("days", days.as_str())), connection.as_deref().map(|id| ("connection_id", id))];
            let asked = query(&asked.into_iter().flatten().collect::<Vec<_>>())?;
            let caller = operator.act_for(org).await?;
            let days = get_daily_usage(app, &caller, asked).await.or_missing(no_connection)?;
            Printout::of(days.data, AnswerView::Rows(DAYS))
        }
        UsageCommand::Breakdown { by, id, from, to, org } => {
            let asked = [("by", Some(by)), ("id", id.as_ref()), ("from", from.as_ref()), ("to", to.as_ref())];
            let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value?.as_str())));
            let asked = query(&asked.collect::<Vec<_>>())?;
            let caller = operator.act_for(org).await?;
            Printout::one(get_usage_breakdown(app, &caller, asked).await?, BREAKDOWN)
        }
        UsageCommand::Providers { days, org } => {
            let asked = query(&[("days", &days.to_string())])?;
            let caller = operator.act_for(org).await?;
            Printout::of(count_providers(app, &caller, asked).await?.data, AnswerView::Rows(PROVIDERS))
        }
    }
}

/// The only thing that a report may lack is the connection.
fn no_connection() -> anyhow::Error {
    anyhow!("--connection: no address was verified for such a connection")
}

/// A period for people. Reasons that no address had are left out.
const USAGE: AnswerView = AnswerView::Text(|report| {
    let reasons = report["reasons"].as_object().into_iter().flatten();
    let reasons = reasons.filter(|(_, rows)| rows.as_i64() != Some(0));
    let reasons = reasons.map(|(name, rows)| vec![name.clone(), table::cell(Some(rows))]);
    format!("{}\n{}", table::fields(PERIOD, report), table::lines(&["REASON", "ADDRESSES"], reasons))
});

/// Parts of a period for people, and the rest.
const BREAKDOWN: AnswerView = AnswerView::Text(|usage| {
    let parts = usage["parts"].as_array().into_iter().flatten();
    let named = parts.clone().map(|part| {
        let id = or_none(&part["id"]);
        vec![id, or_none(&part["name"]), table::cell(Some(&part["verified"])), or_none(&part["charged"])]
    });
    let in_parts: i64 = parts.filter_map(|part| part["verified"].as_i64()).sum();
    let rest = usage["total"].as_i64().unwrap_or_default() - in_parts;
    let rest = (rest > 0).then(|| vec!["others".to_owned(), "-".to_owned(), rest.to_string(), "-".to_owned()]);
    table::lines(&["ID", "NAME", "VERIFIED", "CHARGED"], named.chain(rest))
});

fn or_none(value: &Value) -> String {
    if value.is_null() { "-".to_owned() } else { table::cell(Some(value)) }
}

/// A timeline without its events.
#[derive(Serialize)]
struct TimelineCounts {
    window: Window,
    summary: Summary,
}

pub(super) async fn timeline(operator: &LocalOperator<'_>, args: &TimelineArgs) -> Result<Printout> {
    let asked = query(&[("days", &args.days.to_string()), ("limit", &args.limit.to_string())])?;
    let caller = operator.act_for(&args.org).await?;
    let Timeline { window, summary, events, .. } = get_timeline(operator.app, &caller, asked).await?;
    if !args.summary {
        return Printout::of(events, AnswerView::Rows(EVENTS));
    }
    let view = AnswerView::Text(|of| {
        let triggers = table::entries(["STARTED BY", "JOBS"], of, "/summary/jobs_by_trigger");
        format!("{}\n{triggers}", table::fields(SUMMARY, of))
    });
    Printout::one(TimelineCounts { window, summary }, view)
}
