//! Usage reports: verified addresses in a period, and per day.
//!
//! The settlement that charges also writes the counters, so reports add up to the captured credits. Each address of a job
//! counts once, regardless of how many rows have it. Test keys are not counted. Periods are calendar periods in UTC; weeks
//! begin on Monday.

use probity_account::id::ConnId;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::activity::reports::{
    DailyUsageQuery, Day, Range, Statuses, UsagePeriod, UsageQuery, UsageReport,
};
use probity_contract::published::jobs::ReasonCounts;
use probity_mail::time::Millis;
use probity_store::Conn;
use probity_store::activity::reports;
use probity_store::connections::connection;
use probity_store::jobs::JobCounts;

use crate::app::App;
use crate::callers::caller::Caller;

/// Counts the addresses verified in a period.
pub async fn get_usage(app: &App, caller: &Caller, query: UsageQuery) -> Result<UsageReport, ApiError> {
    let range = range(query.period, app.now());
    let (from, to) = range.map_or((i64::MIN, i64::MAX), |(start, end)| (start.utc_day(), end.utc_day() - 1));
    let mut conn = app.store.read().await?;
    let connection = known_connection(&mut conn, caller, query.connection_id.as_deref()).await?;
    let sums = reports::by_reason(&mut conn, caller.org(), from, to, connection.as_deref()).await?;
    let mut counts = JobCounts::default();
    for sum in &sums {
        counts.add(sum.of, sum.verified);
    }
    let reasons: Vec<_> = sums.iter().map(|sum| (sum.of, sum.verified)).collect();
    Ok(UsageReport {
        period: query.period,
        connection_id: connection,
        range: range.map(|(start, end)| Range { start: start.into(), end: end.into() }),
        total: counts.processed,
        statuses: Statuses::of(&counts),
        reasons: ReasonCounts::of(&reasons),
    })
}

/// Counts the addresses verified on each day, oldest day first.
pub async fn get_daily_usage(app: &App, caller: &Caller, query: DailyUsageQuery) -> Result<List<Day>, ApiError> {
    let today = app.now().utc_day();
    let first = today + 1 - query.days;
    let mut conn = app.store.read().await?;
    let connection = known_connection(&mut conn, caller, query.connection_id.as_deref()).await?;
    let sums = reports::by_day(&mut conn, caller.org(), first, today, connection.as_deref()).await?;
    let day = |day: i64| {
        let mut counts = JobCounts::default();
        for sum in sums.iter().filter(|sum| sum.of.0 == day) {
            counts.add(sum.of.1, sum.verified);
        }
        Day::of(day, &counts)
    };
    Ok(List::whole((first..=today).map(day).collect()))
}

/// Returns the connection to report on: one that the caller can see, or one of the organization's for which an address was
/// verified, because counters outlast a deleted connection. Normalizes its ID, because the counters store only one spelling.
async fn known_connection(conn: &mut Conn, caller: &Caller, wanted: Option<&str>) -> Result<Option<String>, ApiError> {
    let Some(wanted) = wanted else { return Ok(None) };
    let id: ConnId = wanted.parse().map_err(|_| ApiError::not_found())?;
    let normalized = id.to_string();
    if !reports::knows_connection(conn, caller.org(), &normalized).await? {
        // Fails with 404 if there is none.
        connection::by_id(conn, caller.org(), id, caller.is_test()).await?;
    }
    Ok(Some(normalized))
}

/// Returns start and end (exclusive) of a period; `None` for all time.
fn range(period: UsagePeriod, now: Millis) -> Option<(Millis, Millis)> {
    let days_after = |start: Millis, days| Millis::from_utc_day(start.utc_day() + days);
    let (week, year) = (now.week_start(), now.year_start());
    match period {
        UsagePeriod::ThisWeek => Some((week, days_after(week, 7))),
        UsagePeriod::ThisMonth => Some((now.month_start(), now.next_month_start())),
        // No year is longer than 366 days.
        UsagePeriod::ThisYear => Some((year, days_after(year, 366).year_start())),
        UsagePeriod::Lifetime => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_those_of_the_calendar() {
        let now = Millis(1_709_208_000_000); // 2024-02-29T12:00:00Z, a Thursday
        let cases = [
            (UsagePeriod::ThisWeek, Some(("2024-02-26", "2024-03-04"))),
            (UsagePeriod::ThisMonth, Some(("2024-02-01", "2024-03-01"))),
            (UsagePeriod::ThisYear, Some(("2024-01-01", "2025-01-01"))),
            (UsagePeriod::Lifetime, None),
        ];
        for (period, expected) in cases {
            let day = |at: Millis| at.to_rfc3339().split_once("T00:00:00.000Z").unwrap().0.to_owned();
            let range = range(period, now).map(|(start, end)| (day(start), day(end)));
            assert_eq!(range, expected.map(|(start, end)| (start.to_owned(), end.to_owned())), "{period:?}");
        }
    }
}
