//! Plans, and organizations as they stand in theirs.

use probity_mail::time::Millis;
use probity_server::admin::PlanShown;
use serde::Serialize;

use super::{moment_text, table};

/// An organization with all that operators see of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Detail {
    /// What the list shows.
    #[serde(flatten)]
    pub org: super::Org,
    /// Why it was stopped, or is looked at.
    pub hold_reason: Option<String>,
    /// When its trial ends or ended.
    #[serde(serialize_with = "super::maybe_time")]
    pub trial_ends_at: Option<Millis>,
    /// The beginning of its period.
    #[serde(serialize_with = "super::time")]
    pub period_start: Millis,
    /// The end of it.
    #[serde(serialize_with = "super::time")]
    pub period_end: Millis,
    /// When credits of its plan are due.
    #[serde(serialize_with = "super::maybe_time")]
    pub renews_at: Option<Millis>,
    /// What it can spend of subscription credits.
    pub subscription: i64,
    /// What it can spend of prepaid credits.
    pub prepaid: i64,
    /// Whether that is low.
    pub low: bool,
    /// Below how many credits its balance is low.
    pub low_balance: Option<i64>,
    /// Its seats; none where nobody counts.
    pub seats: Option<i64>,
    /// Requests a minute for all its keys; none where the installation's limit counts.
    pub rate_per_minute: Option<i64>,
    /// What it may use.
    pub entitlements: Vec<String>,
}

/// A row of the ledger.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Booked {
    /// Whose.
    pub organization: String,
    /// When.
    #[serde(serialize_with = "super::time")]
    pub at: Millis,
    /// `grant`, `expire` or `adjust`.
    pub kind: String,
    /// Subscription credits.
    pub subscription: i64,
    /// Prepaid credits.
    pub prepaid: i64,
    /// What caused it.
    pub cause: String,
}

pub(super) fn table(plans: &[PlanShown]) -> String {
    let number = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let row = |plan: &PlanShown| {
        let trial = plan.trial_days.map(|days| format!("{days}d/{}", plan.trial_credits.unwrap_or(0)));
        let refill = plan.refill_credits.map(|credits| format!("{credits}x{}", plan.refill_times.unwrap_or(0)));
        vec![
            if plan.is_default { format!("{}*", plan.name) } else { plan.name.clone() },
            plan.monthly_credits.to_string(),
            plan.initial_credits.to_string(),
            number(plan.seats),
            trial.unwrap_or_else(|| "-".into()),
            refill.unwrap_or_else(|| "-".into()),
            number(plan.low_balance),
            plan.title.clone(),
        ]
    };
    let head = ["PLAN", "MONTHLY", "INITIAL", "SEATS", "TRIAL", "REFILL", "LOW", "TITLE"];
    table::lines(&head, plans.iter().map(row))
}

pub(super) fn shown(detail: &Detail) -> String {
    let Detail { org, .. } = detail;
    let number = |number: Option<i64>| number.map_or_else(|| "unlimited".to_owned(), |number| number.to_string());
    let time = |at: Option<Millis>| at.map_or_else(|| "none".to_owned(), moment_text);
    let rows = [
        ("organization", org.id.clone()),
        ("name", org.name.clone()),
        ("status", org.status.clone()),
        ("reason", detail.hold_reason.clone().unwrap_or_default()),
        ("plan", org.plan.clone()),
        ("period", format!("{} to {}", moment_text(detail.period_start), moment_text(detail.period_end))),
        ("renewal", time(detail.renews_at)),
        ("trial until", time(detail.trial_ends_at)),
        ("subscription", detail.subscription.to_string()),
        ("prepaid", detail.prepaid.to_string()),
        ("low", format!("{} (below {})", if detail.low { "yes" } else { "no" }, number(detail.low_balance))),
        ("seats", number(detail.seats)),
        ("requests/minute", number(detail.rate_per_minute)),
        ("entitlements", detail.entitlements.join(", ")),
    ];
    let shown = rows.iter().filter(|(_, value)| !value.is_empty());
    shown.map(|(name, value)| format!("{name:<18}{value}\n")).collect::<Vec<_>>().concat()
}

pub(super) fn ledger(rows: &[Booked]) -> String {
    let row = |row: &Booked| {
        vec![
            moment_text(row.at),
            row.kind.clone(),
            row.subscription.to_string(),
            row.prepaid.to_string(),
            row.cause.clone(),
        ]
    };
    table::lines(&["AT", "KIND", "SUBSCRIPTION", "PREPAID", "CAUSE"], rows.iter().map(row))
}
