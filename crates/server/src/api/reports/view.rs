//! Reports as JSON shows them.

use probity_core::time::civil_from_days;
use probity_store::jobs::Counts;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::Object;

use super::PERIODS;
use crate::api::jobs::view::ReasonCounts;
use crate::api::timestamp::Timestamp;
use crate::openapi::schema;

/// The usage of a period.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct UsageReport {
    /// The period.
    #[schema(schema_with = periods)]
    pub(crate) period: String,
    /// The connection whose data is counted; null for all usage.
    #[schema(required, examples("conn_01h455vb4pex5vsknk084sn02q"))]
    pub(crate) connection_id: Option<String>,
    /// From when and until when, in UTC; null for `lifetime`.
    #[schema(required)]
    pub(crate) range: Option<Range>,
    /// Addresses that were verified.
    #[schema(examples(500), minimum = 0)]
    pub(crate) total: i64,
    /// Addresses by status.
    pub(crate) statuses: Statuses,
    /// Addresses that did not pass, by reason.
    pub(crate) reasons: ReasonCounts,
}

/// A span of time.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Range {
    /// When it begins.
    pub(crate) start: Timestamp,
    /// When it ends: the beginning of the next one.
    pub(crate) end: Timestamp,
}

/// Addresses by status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Statuses {
    /// Those that passed.
    #[schema(examples(400), minimum = 0)]
    passed: i64,
    /// Those that did not: undeliverable, risky and unknown ones.
    #[schema(examples(100), minimum = 0)]
    failed: i64,
    /// Hard failures.
    #[schema(examples(60), minimum = 0)]
    undeliverable: i64,
    /// Deliverable, but flagged.
    #[schema(examples(25), minimum = 0)]
    risky: i64,
    /// Those about which nothing could be found out.
    #[schema(examples(15), minimum = 0)]
    unknown: i64,
}

impl Statuses {
    pub(super) fn of(counts: &Counts) -> Self {
        Self {
            passed: counts.passed,
            failed: counts.failed(),
            undeliverable: counts.undeliverable,
            risky: counts.risky,
            unknown: counts.unknown,
        }
    }
}

/// The usage of one day.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = UsageDay)]
pub(crate) struct Day {
    /// The day in UTC.
    #[schema(format = Date, examples("2026-11-21"))]
    date: String,
    /// Addresses that were verified.
    #[schema(examples(500), minimum = 0)]
    total: i64,
    /// Addresses by status.
    statuses: Statuses,
}

impl Day {
    pub(super) fn of(day: i64, counts: &Counts) -> Self {
        let date = civil_from_days(day).to_string();
        Self { date, total: counts.processed, statuses: Statuses::of(counts) }
    }
}

fn periods() -> Object {
    let means = "`this_week`: since Monday. `this_month`, `this_year`: of the calendar. `lifetime`: all. In UTC.";
    schema::one_of(PERIODS, means)
}
