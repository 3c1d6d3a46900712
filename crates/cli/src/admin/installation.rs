//! The whole installation: its plans, its nodes, and consistency of its data.

use std::future::{Ready, ready};

use anyhow::Result;
use probity_contract::published::operator::audit::AuditFinding;
use probity_service::app::App;
use probity_service::operator::audit::audit_database;
use probity_service::operator::nodes::list_nodes;
use probity_service::operator::plans::list_plans;
use serde_json::Value;

use super::NoArgs;
use crate::exit::Exit;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{AnswerColumn, at, at_or, field, made, time};

/// Shown below the help of `nodes`.
pub(super) const NODES_EXAMPLES: &str = "\
Examples:
    probity nodes
    probity nodes --json | jq -r 'select(.alive) | .hostname'";

/// Shown below the help of `audit`.
pub(super) const AUDIT_EXAMPLES: &str = "\
Examples:
    probity audit                                    exit code 1 if there are discrepancies
    probity audit --json | jq -r .rule";

const PLANS: &[AnswerColumn] = &[
    made("PLAN", |plan| field(plan, "/name") + if plan["is_default"] == true { "*" } else { "" }),
    at("MONTHLY", "/monthly_credits"),
    at("INITIAL", "/initial_credits"),
    at_or("SEATS", "/seats", "-"),
    made("TRIAL", |plan| pair(plan, ["/trial_days", "/trial_credits"], "d/")),
    made("REFILL", |plan| pair(plan, ["/refill_credits", "/refill_times"], "x")),
    at_or("LOW", "/low_balance", "-"),
    at("TITLE", "/title"),
];

/// Formats two fields with a sign between them; a dash without the first.
fn pair(plan: &Value, [first, second]: [&str; 2], sign: &str) -> String {
    match (field(plan, first), field(plan, second)) {
        (first, _) if first.is_empty() => "-".to_owned(),
        (first, second) => format!("{first}{sign}{}", if second.is_empty() { "0" } else { &second }),
    }
}

pub(super) fn show_plans(app: &App, _: &NoArgs) -> Ready<Result<Printout>> {
    ready(Printout::of(list_plans(app).data, AnswerView::Rows(PLANS)))
}

const NODES: &[AnswerColumn] = &[
    at("NODE", "/id"),
    at("HOST", "/hostname"),
    at("ROLES", "/roles"),
    at("VERSION", "/version"),
    time("SINCE", "/started_at"),
    time("SEEN", "/seen_at"),
    at("ALIVE", "/alive"),
    at("CHUNKS", "/chunks"),
    at("IMPORTS", "/imports"),
    made("CLOCK", lead),
    at_or("LEASES", "/leases", "none"),
];

/// Formats the lead of a clock in seconds, with a sign unless it is 0.
fn lead(node: &Value) -> String {
    let ms = node["clock_ahead_ms"].as_i64().unwrap_or_default();
    let sign = match ms.signum() {
        1 => "+",
        -1 => "-",
        _ => "",
    };
    let tenths = ms.unsigned_abs() / 100;
    format!("{sign}{}.{}s", tenths / 10, tenths % 10)
}

pub(super) async fn show_nodes(app: &App, _: &NoArgs) -> Result<Printout> {
    Printout::of(list_nodes(app).await?, AnswerView::Rows(NODES))
}

const FINDINGS: &[AnswerColumn] = &[
    at("ORGANIZATION", "/organization"),
    at_or("OF", "/subject", "-"),
    at("SAID", "/said"),
    at("FOUND", "/found"),
    at("BROKEN RULE", "/rule"),
];

pub(super) async fn audit(app: &App, _: &NoArgs) -> Result<Printout> {
    print_findings(audit_database(app).await?)
}

/// Prints discrepancies, which make the command fail.
pub(super) fn print_findings(found: Vec<AuditFinding>) -> Result<Printout> {
    Ok(Printout::of(found, AnswerView::Rows(FINDINGS))?.or_text("Audit passed.\n").exit_if_any(Exit::NotPassed))
}
