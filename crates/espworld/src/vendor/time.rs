//! Times as platforms format and parse them.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, civil};

fn zoned(ms: i64, hours: i8) -> jiff::Zoned {
    let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::fixed(Offset::constant(hours)))
}

/// Formats a time by a `strftime` pattern, in UTC.
pub(super) fn shown(ms: i64, pattern: &str) -> String {
    shown_at(ms, 0, pattern)
}

/// Formats a time by a pattern, at an offset from UTC in hours.
pub(super) fn shown_at(ms: i64, hours: i8, pattern: &str) -> String {
    zoned(ms, hours).strftime(pattern).to_string()
}

/// Formats as `2026-11-22T10:00:00.000Z`.
pub(super) fn iso_ms(ms: i64) -> String {
    shown(ms, "%Y-%m-%dT%H:%M:%S.%3fZ")
}

/// Formats as `2026-11-22T10:00:00Z`.
pub(super) fn iso(ms: i64) -> String {
    shown(ms, "%Y-%m-%dT%H:%M:%SZ")
}

/// Formats as `2026-11-22T10:00:00+00:00`.
pub(super) fn iso_offset(ms: i64) -> String {
    shown(ms, "%Y-%m-%dT%H:%M:%S+00:00")
}

/// Formats as `2026-11-22 10:00:00`.
pub(super) fn sql(ms: i64) -> String {
    shown(ms, "%Y-%m-%d %H:%M:%S")
}

/// Parses RFC 3339.
pub(super) fn of_iso(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// Parses `2026-11-22 10:00:00`, `2026-11-22 10:00` or `2026-11-22` as UTC.
pub(super) fn of_sql(text: &str) -> Option<i64> {
    let padded = if text.len() == 16 { format!("{text}:00") } else { text.to_owned() };
    let time = padded.parse::<civil::DateTime>().ok().or_else(|| Some(day(text)?.at(0, 0, 0, 0)))?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// Parses `2026-11-22` only.
pub(super) fn of_day(text: &str) -> Option<i64> {
    Some(day(text)?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

fn day(text: &str) -> Option<civil::Date> {
    if text.len() == 10 { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let at = 1_795_341_600_000;
        assert_eq!(iso_ms(at), "2026-11-22T10:00:00.000Z");
        assert_eq!(of_iso(&iso_offset(at)), Some(at));
        assert_eq!(of_iso(&shown_at(at, -5, "%Y-%m-%dT%H:%M:%S-05:00")), Some(at));
        assert_eq!(of_sql(&sql(at)), Some(at));
        assert_eq!(of_sql("2026-11-22 10:00"), Some(at));
        assert_eq!(of_day("2026-11-22"), Some(at - 36_000_000));
        assert_eq!(of_day("2026-11-22T10:00:00Z"), None);
    }
}
