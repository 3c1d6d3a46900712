//! Months of a plan, counted from its start date.

use probity_mail::time::{Date, Millis, civil_from_days, days_from_civil};

/// Month of a plan, or another range of whole days in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Start, inclusive.
    pub start: Millis,
    /// End, exclusive.
    pub end: Millis,
}

impl Period {
    /// Returns the month that contains `now`, of those that begin on the day of the month of `since`. Months without such a day
    /// begin on their last: from 31 January on, 28 or 29 February, 31 March, 30 April. Each is counted from `since`, so a short
    /// month does not shift later ones. Also counts backward: before `since` is the month that ends there.
    pub fn month_of(since: Millis, now: Millis) -> Self {
        let begun = civil_from_days(since.utc_day());
        let (from, at) = (months_of(begun), months_of(civil_from_days(now.utc_day())));
        let passed = at - from;
        let passed = if nth(begun, passed) > now { passed - 1 } else { passed };
        Self { start: nth(begun, passed), end: nth(begun, passed + 1) }
    }

    /// Returns the calendar month that contains `now`.
    pub fn calendar_month(now: Millis) -> Self {
        Self { start: now.month_start(), end: now.next_month_start() }
    }

    /// Returns the last day, counted from 1970-01-01.
    pub fn last_day(self) -> i64 {
        (self.end - 1).utc_day()
    }
}

/// Months since the year 0.
fn months_of(date: Date) -> i64 {
    i64::from(date.year) * 12 + i64::from(date.month) - 1
}

/// Returns the start of the month this many months after a date.
fn nth(begun: Date, months: i64) -> Millis {
    let months = months_of(begun).saturating_add(months);
    let first = |months: i64| {
        let year = i32::try_from(months.div_euclid(12)).unwrap_or(if months < 0 { i32::MIN } else { i32::MAX });
        let month = u8::try_from(months.rem_euclid(12) + 1).expect("1 to 12");
        days_from_civil(Date { year, month, day: 1 })
    };
    let days = first(months.saturating_add(1)) - first(months);
    Millis::from_utc_day(first(months) + (i64::from(begun.day) - 1).min(days - 1))
}
