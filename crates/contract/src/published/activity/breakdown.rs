//! Query and response types of `/v1/reports/usage/breakdown`.

use probity_store::activity::reports::UsageDimension;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::parameters::{describe_query, matching, names, text};
use crate::published::activity::reports::Range;
use crate::query::{FromQuery, Query};
use crate::schema;
use crate::timestamp::Timestamp;

/// Maximum number of days in a breakdown.
const DAYS_MAX: i64 = 366;
/// Default number of days, without a start.
const DAYS_USUAL: i64 = 30;
/// Text of a date, or nothing, which counts as omitted.
const DATE: &str = "^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))?$";

/// Query of a usage breakdown.
#[derive(Clone, Debug)]
pub struct BreakdownQuery {
    pub by: UsageDimension,
    /// ID of the only part to count.
    pub id: Option<String>,
    from: Option<i64>,
    to: Option<i64>,
}

impl BreakdownQuery {
    /// Returns the first and the last day of the period, counted from 1970-01-01.
    pub fn days(&self, today: i64) -> Result<(i64, i64), ApiError> {
        let to = self.to.unwrap_or_else(|| today.max(self.from.unwrap_or(today)));
        let from = self.from.unwrap_or(to + 1 - DAYS_USUAL);
        if from > to {
            return Err(ApiError::invalid("from", "is after `to`; choose an earlier day"));
        }
        if to - from >= DAYS_MAX {
            return Err(ApiError::invalid("from", "is more than 366 days before the end; choose a later day"));
        }
        Ok((from, to))
    }
}

impl FromQuery for BreakdownQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let by = query.one_of("by", &UsageDimension::ALL.map(UsageDimension::as_str))?;
        Ok(Self {
            by: by.and_then(|name| UsageDimension::from_name(&name)).unwrap_or(UsageDimension::Source),
            id: query.filled("id")?,
            from: day(query, "from")?,
            to: day(query, "to")?,
        })
    }
}

/// Parses a date. An empty text counts as omitted.
fn day(query: &Query, name: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = query.filled(name)? else { return Ok(None) };
    let day = format!("{text}T00:00:00Z").parse::<Timestamp>().ok();
    // Rejects other forms of ISO 8601.
    let day = day.filter(|day| day.to_string().starts_with(&text));
    let refused = || ApiError::invalid(name, "is not a date; use one such as `2026-11-21`");
    day.map(|Timestamp(at)| Some(at.utc_day())).ok_or_else(refused)
}

describe_query! { BreakdownQuery:
    "by" = "Dimension, default `source`.", names(UsageDimension::ALL.map(UsageDimension::as_str)).default(Some("source".into())), "key";
    "id" = "Only this part: an ID, a name or a domain, as in `parts`.", text(), "gmail.com";
    "from" = "First day in UTC, default 29 days before `to`.", matching(DATE), "2026-11-01";
    "to" = "Last day in UTC, default today; at most 366 days with the first.", matching(DATE), "2026-11-21";
}

/// Usage of a period, by part and day.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UsageBreakdown {
    #[schema(schema_with = dimensions)]
    pub by: UsageDimension,
    /// Time range in UTC.
    pub range: Range,
    /// Verified addresses. Addresses of no part are included.
    #[schema(examples(500), minimum = 0)]
    pub total: i64,
    /// The 10 parts with the most addresses, the largest first.
    #[schema(max_items = 10)]
    pub parts: Vec<UsagePart>,
    /// Days, oldest first, including days without verifications.
    pub days: Vec<BreakdownDay>,
}

/// Part of an organization's usage.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UsagePart {
    /// Status, name of a source, ID of a key, connection or provider, or a domain; null for addresses without one, such as those
    /// verified without a key.
    #[schema(required, examples("key_01h455vb4pex5vsknk084sn02q"))]
    pub id: Option<String>,
    /// Name of a key, connection or provider, if it has one.
    #[schema(required, examples("Shop"))]
    pub name: Option<String>,
    /// Verified addresses. For domains, at least so many: only frequent domains are counted by name.
    #[schema(examples(400), minimum = 0)]
    pub verified: i64,
    /// Credits charged; null for providers.
    #[schema(required, examples(380), minimum = 0)]
    pub charged: Option<i64>,
}

/// Usage on one day.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BreakdownDay {
    /// Day in UTC.
    #[schema(format = Date, examples("2026-11-21"))]
    pub date: String,
    /// Verified addresses.
    #[schema(examples(50), minimum = 0)]
    pub total: i64,
    /// Verified addresses of each part, in the order of the parts.
    pub parts: Vec<i64>,
}

schema::schemas! {
    dimensions = schema::one_of(UsageDimension::ALL.map(UsageDimension::as_str), "Dimension of the parts.");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(pairs: &[(&str, &str)]) -> Result<(i64, i64), ApiError> {
        BreakdownQuery::from_query(&Query::of_pairs(pairs)?)?.days(20_000)
    }

    #[test]
    fn periods_are_bounded_and_of_real_days() {
        assert_eq!(days(&[]).unwrap(), (19_971, 20_000));
        assert_eq!(days(&[("from", "1970-01-02"), ("to", "1970-01-02")]).unwrap(), (1, 1));
        assert_eq!(days(&[("to", "1970-02-01"), ("from", "")]).unwrap(), (2, 31));
        assert_eq!(days(&[("from", "2024-12-31")]).unwrap(), (20_088, 20_088));
        assert_eq!(days(&[("from", "1972-01-01"), ("to", "1972-12-31")]).unwrap(), (730, 1_095));
        let refused = [
            &[("from", "1972-01-01"), ("to", "1973-01-01")][..],
            &[("from", "1970-01-02"), ("to", "1970-01-01")],
            &[("from", "2026-02-29")],
            &[("from", "2026-2-28")],
            &[("to", "+026-02-28")],
            &[("to", "2026-13-01")],
            &[("to", "x")],
            &[("by", "weather")],
        ];
        for pairs in refused {
            assert!(days(pairs).is_err(), "{pairs:?}");
        }
    }
}
