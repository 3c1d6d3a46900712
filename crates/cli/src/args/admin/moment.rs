//! Times as users give them: relative (`90d`), a day, or an exact time.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use probity_mail::time::Millis;
use probity_service::operator::credits::Until;

use crate::config::duration;

/// Parses `90d`, `2026-12-31` (the end of that day, UTC) or `2026-12-31T12:00:00Z`.
pub(crate) fn time_to_come(text: &str) -> Result<Until, String> {
    let text = text.trim();
    if let Some(ms) = duration::parse(text).filter(|ms| *ms > 0) {
        return Ok(Until::After(ms));
    }
    // The length check excludes a text with a time, which would parse as its day.
    let day = || text.parse::<Date>().ok().filter(|_| text.len() == "2026-12-31".len());
    let end = |day: Date| Some(day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let time = text.parse::<Timestamp>().ok().or_else(|| day().and_then(end));
    let time = time.ok_or("must look like 90d, 2026-12-31 or 2026-12-31T12:00:00Z")?;
    Ok(Until::At(Millis(time.as_millisecond())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_and_a_time_is_exact() {
        let table = [
            ("90d", Some(Until::After(90 * 86_400_000))),
            ("1970-01-01", Some(Until::At(Millis(86_400_000)))),
            ("1970-01-01T00:00:01Z", Some(Until::At(Millis(1_000)))),
            ("1970-01-01T01:00:01+01:00", Some(Until::At(Millis(1_000)))),
            ("1970-01-01T00:00:01", None),
            ("2023-02-29", None),
            ("0d", None),
            ("tomorrow", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(time_to_come(text).ok(), expected, "{text:?}");
        }
    }
}
