//! Plans, and organizations with their plan data.

use probity_mail::time::Millis;
use probity_service::admin::PlanShown;
use serde::Serialize;

use super::{moment_text, table};

/// An organization with all details for operators.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Detail {
    #[serde(flatten)]
    pub org: super::Org,
    /// Reason of a restriction.
    pub hold_reason: Option<String>,
    /// End of the trial, past or future.
    #[serde(serialize_with = "super::maybe_time")]
    pub trial_ends_at: Option<Millis>,
    #[serde(serialize_with = "super::time")]
    pub period_start: Millis,
    #[serde(serialize_with = "super::time")]
    pub period_end: Millis,
    /// Next grant of plan credits.
    #[serde(serialize_with = "super::maybe_time")]
    pub renews_at: Option<Millis>,
    /// Available subscription credits.
    pub subscription: i64,
    /// Available prepaid credits.
    pub prepaid: i64,
    /// The balance is low.
    pub low: bool,
    /// Threshold below which the balance is low.
    pub low_balance: Option<i64>,
    /// Maximum number of users; `None` means unlimited.
    pub seats: Option<i64>,
    /// Rate limit over all keys, in requests per minute; `None` uses the installation's limit.
    pub rate_per_minute: Option<i64>,
    pub entitlements: Vec<String>,
}

/// A ledger entry.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Booked {
    pub organization: String,
    #[serde(serialize_with = "super::time")]
    pub at: Millis,
    /// `grant`, `expire` or `adjust`.
    pub kind: String,
    pub subscription: i64,
    pub prepaid: i64,
    /// Cause of the entry.
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
