//! Query and response types of `/v1/reports`.

use probity_mail::time::civil_from_days;
use probity_store::jobs::JobCounts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::page::OnePageQuery;
use crate::parameters::{bounded, describe_query, names, text};
use crate::published::jobs::ReasonCounts;
use crate::query::{FromQuery, Query};
use crate::schema;
use crate::timestamp::Timestamp;

/// Number of days of a series: minimum, default, maximum.
const SERIES_DAYS: (i64, i64, i64) = (1, 30, 366);
/// Connection ID in examples.
const CONNECTION: &str = "conn_01h455vb4pex5vsknk084sn02q";

probity_mail::named! {
    /// Period of a report, by calendar in UTC.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UsagePeriod {
        ThisWeek = "this_week",
        ThisMonth = "this_month",
        ThisYear = "this_year",
        /// All time. It cannot be combined with a connection.
        Lifetime = "lifetime",
    }
}

/// Usage to count.
#[derive(Clone, Debug)]
pub struct UsageQuery {
    pub period: UsagePeriod,
    /// Connection ID as sent; `None` for all usage.
    pub connection_id: Option<String>,
}

impl FromQuery for UsageQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let named = query.one_of("period", &UsagePeriod::ALL.map(UsagePeriod::as_str))?;
        let period = named.and_then(|name| UsagePeriod::from_name(&name));
        let period = period.unwrap_or(UsagePeriod::ThisMonth);
        let connection_id = query.filled("connection_id")?;
        if connection_id.is_some() && period == UsagePeriod::Lifetime {
            return Err(ApiError::invalid(
                "connection_id",
                "cannot be combined with the period `lifetime`; choose another period",
            ));
        }
        Ok(Self { period, connection_id })
    }
}

describe_query! { UsageQuery:
    "period" = "Period in UTC, default `this_month`.",
        names(UsagePeriod::ALL.map(UsagePeriod::as_str)).default(Some("this_month".into())), "this_week";
    "connection_id" = "Only verifications for this connection; not possible with `lifetime`.", text(), CONNECTION;
}

/// Days whose usage is counted.
#[derive(Clone, Debug)]
pub struct DailyUsageQuery {
    /// Number of days, including today.
    pub days: i64,
    /// Connection ID as sent; `None` for all usage.
    pub connection_id: Option<String>,
}

impl FromQuery for DailyUsageQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        OnePageQuery::from_query(query)?;
        Ok(Self { days: query.whole_within("days", SERIES_DAYS)?, connection_id: query.filled("connection_id")? })
    }
}

describe_query! { DailyUsageQuery:
    "days" = "Number of days including today, 1 to 366, default 30.",
        bounded(SERIES_DAYS, "^0*([1-9]|[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])$"), 30;
    "connection_id" = "Only verifications for this connection.", text(), CONNECTION;
}

/// Usage in a period.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UsageReport {
    #[schema(schema_with = periods)]
    pub period: UsagePeriod,
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
    pub fn of(counts: &JobCounts) -> Self {
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
    pub fn of(day: i64, counts: &JobCounts) -> Self {
        let date = civil_from_days(day).to_string();
        Self { date, total: counts.processed, statuses: Statuses::of(counts) }
    }
}

schema::schemas! {
    periods = schema::one_of(UsagePeriod::ALL.map(UsagePeriod::as_str), "Period in UTC. `this_week`: since Monday. \
        `this_month`, `this_year`: by calendar. `lifetime`: all.");
}
