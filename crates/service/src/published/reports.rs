//! Reports as JSON shows them.

use probity_mail::time::civil_from_days;
use probity_store::jobs::Counts;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::Object;

use crate::published::jobs::ReasonCounts;
use crate::schema;
use crate::timestamp::Timestamp;

/// The periods of reports.
pub const PERIODS: [&str; 4] = ["this_week", "this_month", "this_year", "lifetime"];

/// Usage in a period.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UsageReport {
    /// The period.
    #[schema(schema_with = periods)]
    pub period: String,
    /// Connection that the report covers; null for all usage.
    #[schema(required, examples("conn_01h455vb4pex5vsknk084sn02q"))]
    pub connection_id: Option<String>,
    /// Time range in UTC; null for `lifetime`.
    #[schema(required)]
    pub range: Option<Range>,
    /// Verified addresses.
    #[schema(examples(500), minimum = 0)]
    pub total: i64,
    /// Addresses by status.
    pub statuses: Statuses,
    /// Addresses that did not pass, by reason.
    pub reasons: ReasonCounts,
}

/// A time range.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Range {
    /// Start of the range.
    pub start: Timestamp,
    /// End of the range, exclusive.
    pub end: Timestamp,
}

/// Addresses by status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Statuses {
    /// Addresses that passed.
    #[schema(examples(400), minimum = 0)]
    passed: i64,
    /// Addresses that did not pass: undeliverable, risky or unknown.
    #[schema(examples(100), minimum = 0)]
    failed: i64,
    /// Undeliverable addresses.
    #[schema(examples(60), minimum = 0)]
    undeliverable: i64,
    /// Addresses that are deliverable but flagged.
    #[schema(examples(25), minimum = 0)]
    risky: i64,
    /// Addresses whose status could not be determined.
    #[schema(examples(15), minimum = 0)]
    unknown: i64,
}

impl Statuses {
    pub fn of(counts: &Counts) -> Self {
        Self {
            passed: counts.passed,
            failed: counts.failed(),
            undeliverable: counts.undeliverable,
            risky: counts.risky,
            unknown: counts.unknown,
        }
    }
}

/// Usage on one day.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = UsageDay)]
pub struct Day {
    /// Day in UTC.
    #[schema(format = Date, examples("2026-11-21"))]
    date: String,
    /// Verified addresses.
    #[schema(examples(500), minimum = 0)]
    total: i64,
    /// Addresses by status.
    statuses: Statuses,
}

impl Day {
    pub fn of(day: i64, counts: &Counts) -> Self {
        let date = civil_from_days(day).to_string();
        Self { date, total: counts.processed, statuses: Statuses::of(counts) }
    }
}

fn periods() -> Object {
    let means = "Period in UTC. `this_week`: since Monday. `this_month`, `this_year`: by calendar. `lifetime`: all.";
    schema::one_of(PERIODS, means)
}
