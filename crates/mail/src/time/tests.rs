//! Days, weeks and months against dates that are known, day by day through the calendar, and at the ends of numbers.
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
