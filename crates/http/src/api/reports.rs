//! `GET /v1/reports/usage`: how many addresses were verified in a period, and what came out; and the same day by day.
//!
//! The counters are written with the settlement that charges, so reports add up to what was spent. Each address of a job counts
//! once, however many rows have it; test keys are left out. Periods are those of the calendar in UTC, weeks begin on Monday.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_account::id::ConnId;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::page::List;
use probity_service::published::jobs::ReasonCounts;
use probity_service::published::reports::{Day, PERIODS, Range, Statuses, UsageReport};
use probity_store::jobs::Counts;
use probity_store::{Conn, reports};

use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::{DailyUsageParams, UsageParams};

/// How many days a series has: at least, unless wished otherwise, at most.
pub(crate) const SERIES_DAYS: (i64, i64, i64) = (1, 30, 366);

/// Get usage
///
/// Counts the addresses verified in a period, by status and reason. A repeated address in a list counts once.
#[utoipa::path(
    get,
    path = "/v1/reports/usage",
    tag = "Reports",
    params(UsageParams),
    security(("bearer" = ["read:reports"])),
    responses((status = 200, description = "The report.", body = UsageReport))
)]
pub(crate) async fn get_usage(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<UsageReport>, Refusal> {
    let period = query.one_of("period", &PERIODS)?.unwrap_or_else(|| PERIODS[1].to_owned());
    let wanted = query.text("connection_id")?.filter(|id| !id.is_empty());
    let range = range(&period, app.now());
    if wanted.is_some() && range.is_none() {
        return Err(ApiError::invalid("connection_id", "cannot be combined with the period `lifetime`").into());
    }
    let (from, to) = range.map_or((i64::MIN, i64::MAX), |(start, end)| (start.utc_day(), end.utc_day() - 1));
    let mut conn = app.store.read().await?;
    let connection = known(&mut conn, &caller, wanted.as_deref()).await?;
    let sums = reports::by_reason(&mut conn, caller.org(), from, to, connection.as_deref()).await?;
    let mut counts = Counts::default();
    for sum in &sums {
        counts.add(sum.of, sum.verified);
    }
    let reasons: Vec<_> = sums.iter().map(|sum| (sum.of, sum.verified)).collect();
    Ok(Json(UsageReport {
        period,
        connection_id: connection,
        range: range.map(|(start, end)| Range { start: start.into(), end: end.into() }),
        total: counts.processed,
        statuses: Statuses::of(&counts),
        reasons: ReasonCounts::of(&reasons),
    }))
}

/// The connection that is asked about: one of the organization's, for which something was verified. Its id is written again, so
/// that only one spelling of it is looked for.
async fn known(conn: &mut Conn, caller: &Caller, wanted: Option<&str>) -> Result<Option<String>, Refusal> {
    let Some(wanted) = wanted else { return Ok(None) };
    let id: ConnId = wanted.parse().map_err(|_| ApiError::not_found())?;
    let id = id.to_string();
    if reports::knows_connection(conn, caller.org(), &id).await? {
        Ok(Some(id))
    } else {
        Err(ApiError::not_found().into())
    }
}

/// From when and until when; none for all time.
fn range(period: &str, now: Millis) -> Option<(Millis, Millis)> {
    let days_after = |start: Millis, days| Millis::from_utc_day(start.utc_day() + days);
    let (week, year) = (now.week_start(), now.year_start());
    match period {
        "this_week" => Some((week, days_after(week, 7))),
        "this_month" => Some((now.month_start(), now.next_month_start())),
        // No year is longer.
        "this_year" => Some((year, days_after(year, 366).year_start())),
        _ => None,
    }
}

/// Get daily usage
///
/// Returns one row per day (UTC), oldest first, including days without verifications; today is last. With
/// `connection_id`, counts only verifications for that connection.
#[utoipa::path(
    get,
    path = "/v1/reports/usage/daily",
    tag = "Reports",
    params(DailyUsageParams),
    security(("bearer" = ["read:reports"])),
    responses((status = 200, description = "Usage by day.", body = List<Day>))
)]
pub(crate) async fn get_daily_usage(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<List<Day>>, Refusal> {
    let today = app.now().utc_day();
    let first = today + 1 - query.whole_within("days", SERIES_DAYS)?;
    let wanted = query.text("connection_id")?.filter(|id| !id.is_empty());
    let mut conn = app.store.read().await?;
    let connection = known(&mut conn, &caller, wanted.as_deref()).await?;
    let sums = reports::by_day(&mut conn, caller.org(), first, today, connection.as_deref()).await?;
    let day = |day: i64| {
        let mut counts = Counts::default();
        for sum in sums.iter().filter(|sum| sum.of.0 == day) {
            counts.add(sum.of.1, sum.verified);
        }
        Day::of(day, &counts)
    };
    Ok(Json(List::whole((first..=today).map(day).collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_those_of_the_calendar() {
        let now = Millis(1_709_208_000_000); // 2024-02-29T12:00:00Z, a Thursday
        let cases = [
            ("this_week", Some(("2024-02-26", "2024-03-04"))),
            ("this_month", Some(("2024-02-01", "2024-03-01"))),
            ("this_year", Some(("2024-01-01", "2025-01-01"))),
            ("lifetime", None),
        ];
        for (period, expected) in cases {
            let day = |at: Millis| at.to_rfc3339().split_once("T00:00:00.000Z").unwrap().0.to_owned();
            let range = range(period, now).map(|(start, end)| (day(start), day(end)));
            assert_eq!(range, expected.map(|(start, end)| (start.to_owned(), end.to_owned())), "{period}");
        }
    }
}
