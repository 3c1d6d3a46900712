//! Times as users give them: relative (`90d`), a day, or an exact time.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use probity_mail::time::Millis;

use crate::config::duration;

/// A time, absolute or relative to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeArg {
    /// Milliseconds from now.
    After(i64),
    At(Millis),
}

impl TimeArg {
    /// Parses `90d`, `2026-12-31` (the end of that day, UTC) or `2026-12-31T12:00:00Z`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(ms) = duration::parse(text).filter(|ms| *ms > 0) {
            return Ok(Self::After(ms));
        }
        // The length check excludes a text with a time, which would parse as its day.
        let day = || text.parse::<Date>().ok().filter(|_| text.len() == "2026-12-31".len());
        let end = |day: Date| Some(day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
        let time = text.parse::<Timestamp>().ok().or_else(|| day().and_then(end));
        let time = time.ok_or("must look like 90d, 2026-12-31 or 2026-12-31T12:00:00Z")?;
        Ok(Self::At(Millis(time.as_millisecond())))
    }

    /// Resolves the time; `None` if it has passed.
    pub(crate) fn from(self, now: Millis) -> Option<Millis> {
        let at = match self {
            Self::After(ms) => now + ms,
            Self::At(at) => at,
        };
        (at > now).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_and_a_time_is_exact() {
        let table = [
            ("90d", Some(TimeArg::After(90 * 86_400_000))),
            ("1970-01-01", Some(TimeArg::At(Millis(86_400_000)))),
            ("1970-01-01T00:00:01Z", Some(TimeArg::At(Millis(1_000)))),
            ("1970-01-01T01:00:01+01:00", Some(TimeArg::At(Millis(1_000)))),
            ("1970-01-01T00:00:01", None),
            ("2023-02-29", None),
            ("0d", None),
            ("tomorrow", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(TimeArg::parse(text).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_over_is_no_future() {
        let now = Millis(5_000);
        assert_eq!(TimeArg::After(1).from(now), Some(Millis(5_001)));
        assert_eq!(TimeArg::At(Millis(5_000)).from(now), None);
    }
}
