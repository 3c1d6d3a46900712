//! Usage and timeline.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_contract::published::activity::reports::UsagePeriod;
use probity_contract::published::activity::timeline::{Timeline, TimelineEvent};
use probity_service::accounts::keys::list_keys;
use probity_service::activity::breakdown::get_usage_breakdown;
use probity_service::activity::reports::{get_daily_usage, get_usage};
use probity_service::activity::timeline::get_timeline;
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::lists::providers::count_providers;
use probity_service::operator::people::list_people;
use serde_json::Value;

use super::OrgFlag;
use super::operator::{OrMissing as _, WHOLE, act_for, query};
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::{self, AnswerColumn, at, at_or, field, field_or, made, time};

/// Shown below the help of `usage`.
pub(super) const USAGE_EXAMPLES: &str = "\
Examples:
    probity usage report --period this_year
    probity usage report --connection conn_01h455vb4pex5vsknk084sn02q
    probity usage daily --days 90 --json
    probity usage breakdown --by key --from 2026-11-01
    probity usage providers";

/// Shown below the help of `timeline`.
pub(super) const TIMELINE_EXAMPLES: &str = "\
Examples:
    probity timeline --days 7
    probity timeline --days 90 --summary --json";

/// Dimensions of the API.
const DIMENSIONS: [&str; 6] = ["status", "source", "key", "connection", "provider", "domain"];

#[derive(Debug, Subcommand)]
pub(crate) enum UsageCommand {
    /// Show how many addresses were verified in a period, and the results
    Report {
        /// Calendar period, in UTC
        #[arg(long, default_value = "this_month", value_parser = PossibleValuesParser::new(UsagePeriod::ALL.map(UsagePeriod::as_str)))]
        period: String,
        /// Only lists of this connection; not with `lifetime`
        #[arg(id = "connection_id", long = "connection", value_name = "CONNECTION_ID")]
        connection: Option<String>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Show verifications per day, oldest first
    Daily {
        /// Number of days, up to today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        /// Only lists of this connection
        #[arg(id = "connection_id", long = "connection", value_name = "CONNECTION_ID")]
        connection: Option<String>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Show verifications by status, source, API key, connection, mail provider or domain; the largest first
    Breakdown {
        /// Dimension
        #[arg(long, default_value = "source", value_parser = PossibleValuesParser::new(DIMENSIONS))]
        by: String,
        /// Only this ID, name or domain
        #[arg(long)]
        id: Option<String>,
        /// First day in UTC, such as 2026-11-01; default 29 days before the last
        #[arg(long, value_name = "DATE")]
        from: Option<String>,
        /// Last day in UTC; default today
        #[arg(long, value_name = "DATE")]
        to: Option<String>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Show verifications and unknown results by mail provider
    Providers {
        /// Number of days, up to today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        #[command(flatten)]
        org: OrgFlag,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    /// Number of days, up to today
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
    pub days: u32,
    /// Maximum number of events
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Show counts of all events in these days, instead of the newest events
    #[arg(long)]
    pub summary: bool,
    #[command(flatten)]
    pub org: OrgFlag,
}

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

pub(super) const EVENTS: &[AnswerColumn] = &[
    time("AT", "/at"),
    at("WHAT", "/type"),
    made("WHO", |event| {
        let id = field(event, "/actor/id");
        let who = [field(event, "/actor/type"), field_or(event, "/actor/name", &id)].join(" ");
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
    match event["type"].as_str() {
        Some("job") => {
            let [id, status] = ["/job/id", "/job/status"].map(|pointer| field(event, pointer));
            let name = event["job"]["name"].as_str().map(|name| format!("{name}: ")).unwrap_or_default();
            format!("{name}{id} {status}, by {}", field_or(event, "/trigger", "unknown"))
        }
        Some("settings_change") => {
            let [before, after] = ["/before", "/after"].map(|at| field_or(event, at, "none"));
            format!("{}: {before} to {after}", field(event, "/setting"))
        }
        Some("connection_change") => {
            let [provider, change] = ["/provider", "/change"].map(|pointer| field(event, pointer));
            let run = event["run_id"].as_str().map(|run| format!(", {run}")).unwrap_or_default();
            let contacts = event["contacts"].as_i64().map(|n| format!(", contacts: {n}")).unwrap_or_default();
            format!("{provider}: {change}{run}{contacts}")
        }
        _ => field(event, "/kind"),
    }
}

pub(super) async fn usage(app: &App, command: &UsageCommand) -> Result<Printout> {
    match command {
        UsageCommand::Report { period, connection, org } => {
            let asked = query([("period", Some(&**period)), ("connection_id", connection.as_deref())])?;
            let caller = act_for(app, org).await?;
            Printout::one(get_usage(app, &caller, asked).await.or_missing(no_connection)?, USAGE)
        }
        UsageCommand::Daily { days, connection, org } => {
            let asked = query([("days", Some(&*days.to_string())), ("connection_id", connection.as_deref())])?;
            let caller = act_for(app, org).await?;
            let days = get_daily_usage(app, &caller, asked).await.or_missing(no_connection)?;
            Printout::of(days.data, AnswerView::Rows(DAYS))
        }
        UsageCommand::Breakdown { by, id, from, to, org } => {
            let [id, from, to] = [id, from, to].map(Option::as_deref);
            let asked = query([("by", Some(&**by)), ("id", id), ("from", from), ("to", to)])?;
            let caller = act_for(app, org).await?;
            Printout::one(get_usage_breakdown(app, &caller, asked).await?, BREAKDOWN)
        }
        UsageCommand::Providers { days, org } => {
            let asked = query([("days", Some(&*days.to_string()))])?;
            let caller = act_for(app, org).await?;
            Printout::of(count_providers(app, &caller, asked).await?.data, AnswerView::Rows(PROVIDERS))
        }
    }
}

/// A report can only fail to find the connection.
fn no_connection() -> anyhow::Error {
    anyhow!("--connection: the organization has no such connection")
}

/// View of a period. Reasons without addresses are omitted.
const USAGE: AnswerView = AnswerView::Text(|report| {
    let reasons = report["reasons"].as_object().into_iter().flatten();
    let reasons = reasons.filter(|(_, rows)| rows.as_i64() != Some(0));
    let reasons = reasons.map(|(name, rows)| vec![name.clone(), table::cell(Some(rows))]);
    format!("{}\n{}", table::fields(PERIOD, report), table::lines(&["REASON", "ADDRESSES"], reasons))
});

/// View of a period by parts, with the rest.
const BREAKDOWN: AnswerView = AnswerView::Text(|usage| {
    let parts = usage["parts"].as_array().into_iter().flatten();
    let named = parts.clone().map(|part| {
        vec![
            field_or(part, "/id", "-"),
            field_or(part, "/name", "-"),
            field(part, "/verified"),
            field_or(part, "/charged", "-"),
        ]
    });
    let in_parts: i64 = parts.filter_map(|part| part["verified"].as_i64()).sum();
    let rest = usage["total"].as_i64().unwrap_or_default() - in_parts;
    let rest = (rest > 0).then(|| vec!["others".to_owned(), "-".to_owned(), rest.to_string(), "-".to_owned()]);
    table::lines(&["ID", "NAME", "VERIFIED", "CHARGED"], named.chain(rest))
});

/// Returns the names of keys and members by ID.
async fn names(app: &App, caller: &Caller) -> Result<BTreeMap<String, String>> {
    let keys = list_keys(app, caller, WHOLE).await?.data.into_iter().map(serde_json::to_value);
    let users = list_people(app, caller.org_id()).await?.data.into_iter().map(serde_json::to_value);
    let named =
        |of: Value| Some((of["id"].as_str()?.to_owned(), of["name"].as_str().or(of["email"].as_str())?.to_owned()));
    Ok(keys.chain(users).collect::<Result<Vec<_>, _>>()?.into_iter().filter_map(named).collect())
}

/// Adds the actor's present name to an event.
fn with_name(event: &TimelineEvent, names: &BTreeMap<String, String>) -> Result<Value> {
    let mut event = serde_json::to_value(event)?;
    if let Some(name) = event["actor"]["id"].as_str().and_then(|id| names.get(id)) {
        event["actor"]["name"] = name.as_str().into();
    }
    Ok(event)
}

pub(super) async fn timeline(app: &App, args: &TimelineArgs) -> Result<Printout> {
    let asked = query([("days", Some(&*args.days.to_string())), ("limit", Some(&*args.limit.to_string()))])?;
    let caller = act_for(app, &args.org).await?;
    let Timeline { window, summary, events, .. } = get_timeline(app, &caller, asked).await?;
    if !args.summary {
        let names = names(app, &caller).await?;
        let shown = events.iter().map(|event| with_name(event, &names)).collect::<Result<Vec<_>>>()?;
        return Printout::of(shown, AnswerView::Rows(EVENTS));
    }
    let view = AnswerView::Text(|of| {
        let triggers = table::entries(["STARTED BY", "JOBS"], of, "/summary/jobs_by_trigger");
        format!("{}\n{triggers}", table::fields(SUMMARY, of))
    });
    Printout::one(join(OneField("window", window), OneField("summary", summary)), view)
}
