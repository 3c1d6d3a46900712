//! Usage and timeline: queries and output.

use serde_json::Value;

use super::lists::named_lines;
use super::told::{cell, cell_or};
use super::{DeskWish, Request, table};
use crate::args::{TimelineArgs, UsageCommand};

/// A report query: a route of the API with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub about: About,
    /// Parameters by their API names.
    pub parameters: Vec<(&'static str, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Usage of a period.
    Usage,
    /// Usage per day.
    Days,
    Providers,
    /// Events.
    Timeline,
    /// Event counts.
    Summary,
}

pub(super) fn usage(command: &UsageCommand) -> Request {
    let days = |days: &u32| ("days", days.to_string());
    let of = |connection: &Option<String>| connection.clone().map(|id| ("connection_id", id));
    let (org, about, parameters) = match command {
        UsageCommand::Report { period, connection, org } => {
            (org, About::Usage, [Some(("period", period.clone())), of(connection)])
        }
        UsageCommand::Daily { days: n, connection, org } => (org, About::Days, [Some(days(n)), of(connection)]),
        UsageCommand::Providers { days: n, org } => (org, About::Providers, [Some(days(n)), None]),
    };
    let question = Question { about, parameters: parameters.into_iter().flatten().collect() };
    Request::Desk { org: org.org.clone(), wish: DeskWish::Report(question) }
}

pub(super) fn timeline(args: &TimelineArgs) -> Request {
    let about = if args.summary { About::Summary } else { About::Timeline };
    let parameters = vec![("days", args.days.to_string()), ("limit", args.limit.to_string())];
    Request::Desk { org: args.org.org.clone(), wish: DeskWish::Report(Question { about, parameters }) }
}

/// Formats usage periods.
pub(crate) fn periods(all: &[Value]) -> String {
    all.iter().map(period).collect()
}

fn period(report: &Value) -> String {
    let (range, statuses) = (&report["range"], &report["statuses"]);
    let head = named_lines(&[
        ("period", cell(&report["period"])),
        ("from", cell(&range["start"])),
        ("to", cell(&range["end"])),
        ("connection", cell(&report["connection_id"])),
        ("verified", cell(&report["total"])),
        ("passed", cell(&statuses["passed"])),
        ("undeliverable", cell(&statuses["undeliverable"])),
        ("risky", cell(&statuses["risky"])),
        ("unknown", cell(&statuses["unknown"])),
    ]);
    let reasons = report["reasons"].as_object().into_iter().flatten();
    let reasons =
        reasons.filter(|(_, rows)| rows.as_i64() != Some(0)).map(|(name, rows)| vec![name.clone(), cell(rows)]);
    format!("{head}\n{}", table::lines(&["REASON", "ADDRESSES"], reasons))
}

/// Formats usage per day.
pub(crate) fn days(days: &[Value]) -> String {
    let row = |day: &Value| {
        let counts = ["passed", "undeliverable", "risky", "unknown"].map(|name| cell(&day["statuses"][name]));
        [vec![cell(&day["date"]), cell(&day["total"])], counts.to_vec()].concat()
    };
    table::lines(&["DAY", "VERIFIED", "PASSED", "UNDELIVERABLE", "RISKY", "UNKNOWN"], days.iter().map(row))
}

/// Formats mail providers with their usage.
pub(crate) fn providers(all: &[Value]) -> String {
    let row = |one: &Value| {
        let names = [cell_or(&one["id"], "other"), cell_or(&one["name"], "others")];
        [names.to_vec(), ["verified", "unknown"].map(|name| cell(&one[name])).to_vec()].concat()
    };
    table::lines(&["PROVIDER", "NAME", "VERIFIED", "UNKNOWN"], all.iter().map(row))
}

/// Formats events, newest first.
pub(crate) fn events(events: &[Value]) -> String {
    let row = |event: &Value| {
        let (job, what) = (&event["job"], cell(&event["type"]));
        let detail = match what.as_str() {
            "job" => {
                format!("{} {}, by {}", cell(&job["id"]), cell(&job["status"]), cell_or(&event["trigger"], "unknown"))
            }
            "settings_change" => {
                format!(
                    "{}: {} to {}",
                    cell(&event["setting"]),
                    cell_or(&event["before"], "none"),
                    cell_or(&event["after"], "none")
                )
            }
            _ => cell(&event["kind"]),
        };
        let actor = &event["actor"];
        let who = format!("{} {}", cell_or(&actor["type"], "unknown"), cell(&actor["id"]));
        vec![cell(&event["at"]), what, who.trim_end().to_owned(), detail]
    };
    table::lines(&["AT", "WHAT", "WHO", "DETAIL"], events.iter().map(row))
}

/// Formats event counts.
pub(crate) fn summaries(all: &[Value]) -> String {
    all.iter().map(summary).collect()
}

fn summary(of: &Value) -> String {
    let (window, summary) = (&of["window"], &of["summary"]);
    let head = named_lines(&[
        ("from", cell(&window["since"])),
        ("to", cell(&window["until"])),
        ("jobs", cell(&summary["jobs"])),
        ("changed settings", cell(&summary["settings_changes"])),
        ("account events", cell(&summary["account_events"])),
    ]);
    let triggers = summary["jobs_by_trigger"].as_object().into_iter().flatten();
    let triggers = triggers.map(|(trigger, jobs)| vec![trigger.clone(), cell(jobs)]);
    format!("{head}\n{}", table::lines(&["STARTED BY", "JOBS"], triggers))
}
