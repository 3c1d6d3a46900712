//! Wait that a response requests.

use probity_mail::time::{DAY_MS, HOUR_MS, Millis};

use crate::date;
use crate::file::{QuotaEnd, WaitForm, WaitRule};
use crate::source::{Found, Source};

/// Maximum wait. If a platform requests a longer one, the next request is sent earlier.
const WAIT_MAX_MS: i64 = 2 * DAY_MS;

/// Returns the wait in milliseconds: by the file's rules, then by `Retry-After` (RFC 9110 §10.2.3).
pub(super) fn wait_ms(rules: &[WaitRule], found: Found<'_>, now: Millis) -> Option<i64> {
    let by_rule = rules.iter().find_map(|rule| read(rule.form, &rule.at.text(found)?, now));
    by_rule.or_else(|| retry_after_ms(&Source::Header("Retry-After".to_owned()).text(found)?, now))
}

/// Reads a value of `Retry-After` (RFC 9110 §10.2.3), in milliseconds; `None` if it is neither seconds nor a date.
pub fn retry_after_ms(text: &str, now: Millis) -> Option<i64> {
    read(WaitForm::Seconds, text, now).or_else(|| read(WaitForm::HttpDate, text, now))
}

/// Parses a wait in one form; `None` if it does not match.
fn read(form: WaitForm, text: &str, now: Millis) -> Option<i64> {
    // GetResponse writes the unit too, as in `432 seconds`.
    let plain = text.trim().trim_end_matches("seconds").trim_end();
    let number = || plain.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates, and the result is bounded below")]
    let ms = match form {
        WaitForm::Seconds => (number()? * 1000.0).ceil() as i64,
        WaitForm::Milliseconds => number()?.ceil() as i64,
        WaitForm::Epoch => Millis((number()? * 1000.0) as i64).since(now),
        WaitForm::HttpDate => date::http_date(text)?.since(now),
    };
    Some(ms.clamp(0, WAIT_MAX_MS))
}

/// Returns the wait until a quota ends by the clock.
pub(super) fn until_ms(until: QuotaEnd, now: Millis) -> i64 {
    let step = match until {
        QuotaEnd::NextUtcDay => DAY_MS,
        QuotaEnd::NextHour => HOUR_MS,
    };
    step - now.0.rem_euclid(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_in_every_form_and_bounded() {
        let now = Millis(1_795_341_600_000);
        let cases = [
            (WaitForm::Seconds, "30", Some(30_000)),
            (WaitForm::Seconds, "0.5", Some(500)),
            (WaitForm::Seconds, "432 seconds", Some(432_000)),
            (WaitForm::Seconds, "seconds", None),
            (WaitForm::Milliseconds, "250", Some(250)),
            (WaitForm::Epoch, "1795341660", Some(60_000)),
            (WaitForm::Epoch, "1795341000", Some(0)),
            (WaitForm::HttpDate, "Sun, 22 Nov 2026 10:02:00 GMT", Some(120_000)),
            (WaitForm::Seconds, "999999999999", Some(WAIT_MAX_MS)),
            (WaitForm::Seconds, "-1", None),
            (WaitForm::Seconds, "NaN", None),
            (WaitForm::HttpDate, "soon", None),
        ];
        for (form, text, expected) in cases {
            assert_eq!(read(form, text, now), expected, "{form:?} {text}");
        }
        assert_eq!(until_ms(QuotaEnd::NextUtcDay, now), 14 * HOUR_MS);
    }
}
