//! Date forms of platforms, converted to and from milliseconds of Unix time.
//!
//! A date without a time zone is read as UTC. A watermark from such a date may be off by a day, which the overlap in the
//! connector's file covers. An unreadable date counts as missing, never as an error: it only makes a watermark older.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use probity_mail::time::Millis;
use serde::Deserialize;

/// Date form of a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateForm {
    /// `2026-11-22T10:00:00Z`, with or without a fraction or an offset.
    Rfc3339,
    /// `2026-11-22 10:00:00`, in UTC.
    Sql,
    /// `2026-11-22`.
    Date,
    /// Seconds since 1970, as a number or as text.
    Unix,
    /// Milliseconds since 1970, as a number or as text.
    UnixMs,
}

impl DateForm {
    /// Parses a date; `None` if it is not one.
    pub fn read(self, text: &str) -> Option<Millis> {
        let text = text.trim();
        match self {
            // Some platforms omit the zone in some responses, so forms without a zone are accepted too.
            Self::Rfc3339 => {
                text.parse::<Timestamp>().ok().map(|at| Millis(at.as_millisecond())).or_else(|| civil(text))
            }
            Self::Sql => civil(text),
            Self::Date => text
                .parse::<jiff::civil::Date>()
                .ok()
                .and_then(|date| utc(date.to_datetime(jiff::civil::Time::midnight()))),
            Self::Unix => text.parse::<f64>().ok().and_then(|seconds| whole(seconds * 1000.0)),
            Self::UnixMs => text.parse::<f64>().ok().and_then(whole),
        }
    }
}

/// Largest number of milliseconds that a date may have: the year 9999.
const LAST_MS: f64 = 253_402_300_799_999.0;

fn whole(ms: f64) -> Option<Millis> {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates, and the bounds are checked")]
    (0.0..=LAST_MS).contains(&ms).then_some(Millis(ms as i64))
}

fn civil(text: &str) -> Option<Millis> {
    text.parse::<DateTime>().ok().and_then(utc)
}

fn utc(at: DateTime) -> Option<Millis> {
    TimeZone::UTC.to_timestamp(at).ok().map(|at| Millis(at.as_millisecond()))
}

/// Formats as `2026-11-22T10:00:00Z`, rounded down.
pub(crate) fn rfc3339(at: Millis) -> String {
    format!("{}Z", &at.to_rfc3339()[..19])
}

/// Formats as `2026-11-22 10:00:00`, rounded down.
pub(crate) fn sql(at: Millis) -> String {
    at.to_rfc3339()[..19].replace('T', " ")
}

/// Formats as `2026-11-22`, rounded down.
pub(crate) fn date(at: Millis) -> String {
    at.to_rfc3339()[..10].to_owned()
}

/// Parses an HTTP date, as in `Sun, 22 Nov 2026 10:00:00 GMT`, including the obsolete forms that RFC 9110 §5.6.7 requires.
pub(crate) fn http_date(text: &str) -> Option<Millis> {
    /// Obsolete forms of RFC 850 and of C's `asctime`.
    const OLD: [&str; 2] = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let text = text.trim();
    if let Ok(at) = jiff::fmt::rfc2822::parse(text) {
        return Some(Millis(at.timestamp().as_millisecond()));
    }
    OLD.iter().find_map(|form| DateTime::strptime(form, text).ok()).and_then(utc)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Millis = Millis(1_795_341_600_000);

    #[test]
    fn dates_are_read_in_every_form() {
        let cases = [
            (DateForm::Rfc3339, "2026-11-22T10:00:00Z"),
            (DateForm::Rfc3339, "2026-11-22T11:00:00.000+01:00"),
            (DateForm::Rfc3339, "2026-11-22T10:00:00"),
            (DateForm::Sql, "2026-11-22 10:00:00"),
            (DateForm::Unix, "1795341600"),
            (DateForm::UnixMs, "1795341600000"),
        ];
        for (form, text) in cases {
            assert_eq!(form.read(text), Some(AT), "{form:?} {text}");
        }
        assert_eq!(DateForm::Date.read("2026-11-22"), Some(Millis(AT.0 - 36_000_000)));
        for wrong in ["", "never", "0000-00-00 00:00:00", "1e300", "-5"] {
            assert_eq!(DateForm::Sql.read(wrong), None, "{wrong}");
            assert_eq!(DateForm::Unix.read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn dates_are_written_rounded_down() {
        let at = Millis(AT.0 + 999);
        assert_eq!(rfc3339(at), "2026-11-22T10:00:00Z");
        assert_eq!(sql(at), "2026-11-22 10:00:00");
        assert_eq!(date(at), "2026-11-22");
        assert_eq!(http_date("Sun, 22 Nov 2026 10:00:00 GMT"), Some(AT));
    }
}
