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

/// Days, weeks and months against dates that are known, day by day through the calendar, and at the ends of numbers.
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn date(year: i32, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    #[test]
    fn days_and_dates_name_each_other() {
        let cases = [
            (0, date(1970, 1, 1), "1970-01-01"),
            (-1, date(1969, 12, 31), "1969-12-31"),
            (58, date(1970, 2, 28), "1970-02-28"),
            (59, date(1970, 3, 1), "1970-03-01"),
            (11_016, date(2000, 2, 29), "2000-02-29"),
            (11_017, date(2000, 3, 1), "2000-03-01"),
            (19_782, date(2024, 2, 29), "2024-02-29"),
            (20_778, date(2026, 11, 21), "2026-11-21"),
            (47_540, date(2100, 2, 28), "2100-02-28"),
            (47_541, date(2100, 3, 1), "2100-03-01"),
            (-25_508, date(1900, 3, 1), "1900-03-01"),
            (-25_509, date(1900, 2, 28), "1900-02-28"),
            (-719_468, date(0, 3, 1), "0000-03-01"),
            (-719_469, date(0, 2, 29), "0000-02-29"),
            (-719_529, date(-1, 12, 31), "-001-12-31"),
            (2_932_896, date(9999, 12, 31), "9999-12-31"),
        ];
        for (days, date, text) in cases {
            assert_eq!(civil_from_days(days), date, "{days}");
            assert_eq!(days_from_civil(date), days, "{date}");
            assert_eq!(date.to_string(), text);
        }
    }

    #[test]
    fn a_day_ends_at_midnight_on_both_sides_of_the_epoch() {
        for (ms, day) in [(0, 0), (DAY_MS - 1, 0), (DAY_MS, 1), (-1, -1), (-DAY_MS, -1), (-DAY_MS - 1, -2)] {
            assert_eq!(Millis(ms).utc_day(), day, "{ms}");
        }
        assert_eq!(Millis::from_utc_day(-2), Millis(-2 * DAY_MS));
    }

    #[test]
    fn months_begin_and_end_where_the_calendar_says() {
        let day = |year, month, day| Millis::from_utc_day(days_from_civil(date(year, month, day)));
        let cases = [
            (day(2026, 11, 21) + 28_800_000, day(2026, 11, 1), day(2026, 12, 1)),
            (day(2026, 12, 31) + (DAY_MS - 1), day(2026, 12, 1), day(2027, 1, 1)),
            (day(2027, 1, 1), day(2027, 1, 1), day(2027, 2, 1)),
            (day(2024, 2, 29), day(2024, 2, 1), day(2024, 3, 1)),
            (day(2024, 2, 1) - 1, day(2024, 1, 1), day(2024, 2, 1)),
            (day(2023, 2, 28) + (DAY_MS - 1), day(2023, 2, 1), day(2023, 3, 1)),
            (Millis(-1), day(1969, 12, 1), Millis(0)),
        ];
        for (time, start, next) in cases {
            assert_eq!((time.month_start(), time.next_month_start()), (start, next), "{}", time.to_rfc3339());
        }
    }

    #[test]
    fn weeks_begin_on_monday_and_years_on_their_first_day() {
        // GNU date: `date -ud 2026-11-21 +%u` is 6.
        let cases = [
            ((2026, 11, 21), (2026, 11, 16), (2026, 1, 1)),
            ((2026, 11, 16), (2026, 11, 16), (2026, 1, 1)),
            ((2027, 1, 3), (2026, 12, 28), (2027, 1, 1)),
            ((1970, 1, 1), (1969, 12, 29), (1970, 1, 1)),
            ((1969, 12, 28), (1969, 12, 22), (1969, 1, 1)),
        ];
        let at = |(year, month, day)| Millis::from_utc_day(days_from_civil(Date { year, month, day }));
        for (date, week, year) in cases {
            for time in [at(date), at(date) + (DAY_MS - 1)] {
                assert_eq!((time.week_start(), time.year_start()), (at(week), at(year)), "{date:?}");
            }
        }
    }

    #[test]
    fn rfc_3339_has_milliseconds_and_never_an_unwritable_year() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_248_000_000, "2026-11-21T08:00:00.000Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (-2_203_891_199_950, "1900-03-01T00:00:00.050Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "0000-01-01T00:00:00.000Z"),
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
        ];
        for (ms, text) in cases {
            assert_eq!(Millis(ms).to_rfc3339(), text, "{ms}");
        }
    }

    #[test]
    fn the_calendar_counts_on_day_by_day() {
        // 800 years from 1600-01-01 on, against the rule of the leap years.
        let (mut year, mut month, mut day) = (1600, 1, 1);
        for days in -135_140..157_054 {
            assert_eq!(civil_from_days(days), date(year, month, day), "{days}");
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u8::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, last) if last == length => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!((year, month, day), (2400, 1, 1));
    }

    proptest! {
        #[test]
        fn every_time_lies_in_its_day_and_month(ms: i64) {
            let time = Millis(ms);
            let date = civil_from_days(time.utc_day());
            prop_assert_eq!(days_from_civil(date), time.utc_day());
            prop_assert!(Millis::from_utc_day(time.utc_day()) <= time);
            prop_assert!(time.month_start() <= time && time < time.next_month_start());
            prop_assert_eq!(time.next_month_start().month_start(), time.next_month_start());
            prop_assert_eq!((time.next_month_start() - 1).month_start(), time.month_start());
        }

        #[test]
        fn no_number_panics(days: i64, year: i32, month in 1u8..=12, day in 1u8..=31) {
            civil_from_days(days);
            days_from_civil(Date { year, month, day });
            for time in [Millis(i64::MIN), Millis(i64::MAX), Millis(i64::MIN + 1), Millis::from_utc_day(days)] {
                prop_assert!(time.month_start() <= time.next_month_start());
                prop_assert_eq!(time.to_rfc3339().len(), 24);
            }
        }
    }
}
