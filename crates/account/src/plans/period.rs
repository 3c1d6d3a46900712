//! The months of a plan: counted from the day on which it began.

use probity_mail::time::{Date, Millis, civil_from_days, days_from_civil};

/// A month of a plan, or another span of whole days in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Its first moment.
    pub start: Millis,
    /// The first moment after it.
    pub end: Millis,
}

impl Period {
    /// The month in which `now` lies, of those that begin on the day of the month of `since`. Months that have no such day
    /// begin on their last: from 31 January on they begin on 28 or 29 February, 31 March, 30 April. Each is counted from
    /// `since`, so a short month moves none of those after it. Months are counted backward as well: before `since` lies
    /// the month that ends there.
    pub fn month_of(since: Millis, now: Millis) -> Self {
        let begun = civil_from_days(since.utc_day());
        let (from, at) = (months_of(begun), months_of(civil_from_days(now.utc_day())));
        let passed = at - from;
        let passed = if nth(begun, passed) > now { passed - 1 } else { passed };
        Self { start: nth(begun, passed), end: nth(begun, passed + 1) }
    }

    /// The month of the calendar in which `now` lies.
    pub fn calendar_month(now: Millis) -> Self {
        Self { start: now.month_start(), end: now.next_month_start() }
    }

    /// The last day of it, counted from 1970-01-01.
    pub fn last_day(self) -> i64 {
        (self.end - 1).utc_day()
    }
}

/// Months since the year 0.
fn months_of(date: Date) -> i64 {
    i64::from(date.year) * 12 + i64::from(date.month) - 1
}

/// The beginning of the month that comes so many months after a date.
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
