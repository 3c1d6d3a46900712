//! Points in time as this crate sees them: milliseconds of a clock that the shell owns.
//!
//! Usage is counted by day and billed by month, both in UTC, so the calendar is here too: days since 1970-01-01 to dates and
//! back, by Howard Hinnant's algorithms (`days_from_civil`, `civil_from_days`), without leap seconds as everywhere in Unix
//! time. Points that no `i64` of milliseconds can name become the nearest that one can; nothing panics.

use std::{
    fmt,
    ops::{Add, Sub},
};

/// An hour, in milliseconds.
pub const HOUR_MS: i64 = 3_600_000;
/// A day of 24 hours, in milliseconds.
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// A point in time in milliseconds. The zero is the shell's choice (the Unix epoch outside simulations).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// 0000-01-01T00:00:00.000Z, the earliest time that RFC 3339 writes.
    const RFC3339_MIN: Self = Self(-62_167_219_200_000);

    /// 9999-12-31T23:59:59.999Z, the latest time that RFC 3339 writes.
    const RFC3339_MAX: Self = Self(253_402_300_799_999);

    /// The milliseconds from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }

    /// The beginning of a day that is counted from 1970-01-01.
    pub fn from_utc_day(day: i64) -> Self {
        Self(day.saturating_mul(DAY_MS))
    }

    /// The day in UTC, counted from 1970-01-01; days before it are negative.
    pub fn utc_day(self) -> i64 {
        self.0.div_euclid(DAY_MS)
    }

    /// The beginning of the month in UTC.
    #[must_use]
    pub fn month_start(self) -> Self {
        let date = civil_from_days(self.utc_day());
        Self::from_utc_day(days_from_civil(Date { day: 1, ..date }))
    }

    /// The beginning of the month after this one in UTC.
    #[must_use]
    pub fn next_month_start(self) -> Self {
        let Date { year, month, .. } = civil_from_days(self.utc_day());
        let (year, month) = if month == 12 { (year.saturating_add(1), 1) } else { (year, month + 1) };
        Self::from_utc_day(days_from_civil(Date { year, month, day: 1 }))
    }

    /// The beginning of the Monday of the week in UTC (ISO 8601).
    #[must_use]
    pub fn week_start(self) -> Self {
        let day = self.utc_day();
        // 1970-01-01 was a Thursday.
        Self::from_utc_day(day - (day + 3).rem_euclid(7))
    }

    /// The beginning of the year in UTC.
    #[must_use]
    pub fn year_start(self) -> Self {
        let Date { year, .. } = civil_from_days(self.utc_day());
        Self::from_utc_day(days_from_civil(Date { year, month: 1, day: 1 }))
    }

    /// The time as RFC 3339 writes it: `2026-11-21T08:00:00.000Z`. Times outside the years 0 to 9999, for which RFC 3339 has
    /// no form, become the nearest that it has.
    pub fn to_rfc3339(self) -> String {
        let time = self.clamp(Self::RFC3339_MIN, Self::RFC3339_MAX);
        let date = civil_from_days(time.utc_day());
        let ms = time.0.rem_euclid(DAY_MS);
        let (hours, minutes) = (ms / HOUR_MS, ms / 60_000 % 60);
        let (seconds, ms) = (ms / 1000 % 60, ms % 1000);
        format!("{date}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
    }
}

impl Add<i64> for Millis {
    type Output = Self;
    fn add(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl Sub<i64> for Millis {
    type Output = Self;
    fn sub(self, ms: i64) -> Self {
        Self(self.0.saturating_sub(ms))
    }
}

/// A date of the Gregorian calendar, also before there was one. Displays as `2026-11-21`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// The year; 0 is 1 BC.
    pub year: i32,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, 1 to 31.
    pub day: u8,
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Days of 400 years, after which the calendar repeats itself.
const ERA_DAYS: i64 = 146_097;

/// Days from 0000-03-01 to 1970-01-01. Years are counted from March, so that the leap day is the last of its year.
const EPOCH_DAYS: i64 = 719_468;

/// The days from 1970-01-01 to a date. A day behind the end of its month counts on into the next.
pub fn days_from_civil(date: Date) -> i64 {
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let year = i64::from(date.year) - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA_DAYS + day_of_era - EPOCH_DAYS
}

/// The date of a day that is counted from 1970-01-01. Days that no [`Millis`] can name become the nearest that one can.
pub fn civil_from_days(days: i64) -> Date {
    let days = days.clamp(Millis(i64::MIN).utc_day(), Millis(i64::MAX).utc_day()) + EPOCH_DAYS;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Date {
        year: i32::try_from(year).expect("64 bits of milliseconds are 292 million years each way"),
        month: u8::try_from(month).expect("1 to 12"),
        day: u8::try_from(day).expect("1 to 31"),
    }
}

#[cfg(test)]
mod tests;
