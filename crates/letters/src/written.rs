//! Numbers, dates and times as the readers of a language write them.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use probity_account::language::PageLanguage;
use probity_mail::time::Millis;

use crate::phrase::{Wording, text};

const MONTHS: [Wording; 12] = [
    ["January", "Januar", "janvier", "enero"],
    ["February", "Februar", "février", "febrero"],
    ["March", "März", "mars", "marzo"],
    ["April", "April", "avril", "abril"],
    ["May", "Mai", "mai", "mayo"],
    ["June", "Juni", "juin", "junio"],
    ["July", "Juli", "juillet", "julio"],
    ["August", "August", "août", "agosto"],
    ["September", "September", "septembre", "septiembre"],
    ["October", "Oktober", "octobre", "octubre"],
    ["November", "November", "novembre", "noviembre"],
    ["December", "Dezember", "décembre", "diciembre"],
];

/// Returns a number with its thousands apart. Spanish leaves four digits together, as the dashboard does.
pub(crate) fn number(language: PageLanguage, n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let separator = match language {
        PageLanguage::En => ',',
        PageLanguage::De | PageLanguage::Es => '.',
        PageLanguage::Fr => '\u{202f}',
    };
    let is_whole = language == PageLanguage::Es && digits.len() == 4;
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && !is_whole && (digits.len() - place).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    if n < 0 { format!("-{grouped}") } else { grouped }
}

/// Returns a date in words: `November 23, 2026`.
pub(crate) fn day(language: PageLanguage, date: Date) -> String {
    let (year, day) = (date.year(), date.day());
    let place = usize::try_from(date.month() - 1).unwrap_or_default();
    let month = text(language, MONTHS.get(place).copied().unwrap_or_default());
    match language {
        PageLanguage::En => format!("{month} {day}, {year}"),
        PageLanguage::De => format!("{day}. {month} {year}"),
        PageLanguage::Fr if day == 1 => format!("1er {month} {year}"),
        PageLanguage::Fr => format!("{day} {month} {year}"),
        PageLanguage::Es => format!("{day} de {month} de {year}"),
    }
}

/// Returns a time to the minute, in UTC.
pub(crate) fn minute(language: PageLanguage, at: Millis) -> String {
    let Ok(at) = Timestamp::from_millisecond(at.0) else { return String::new() };
    let at = at.to_zoned(TimeZone::UTC).datetime();
    let (day, hour, minute) = (day(language, at.date()), at.hour(), at.minute());
    match language {
        PageLanguage::En => {
            let half = if hour < 12 { "AM" } else { "PM" };
            format!("{day}, {}:{minute:02} {half} (UTC)", (hour + 11) % 12 + 1)
        }
        PageLanguage::De => format!("{day}, {hour:02}:{minute:02} Uhr (UTC)"),
        PageLanguage::Fr => format!("{day} à {hour:02}:{minute:02} (UTC)"),
        PageLanguage::Es => format!("{day}, {hour:02}:{minute:02} (UTC)"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn numbers_are_grouped_as_in_the_dashboard() {
        for (n, expected) in [
            (0, ["0", "0", "0", "0"]),
            (-999, ["-999", "-999", "-999", "-999"]),
            (1_000, ["1,000", "1.000", "1\u{202f}000", "1000"]),
            (1_234_567, ["1,234,567", "1.234.567", "1\u{202f}234\u{202f}567", "1.234.567"]),
        ] {
            assert_eq!(PageLanguage::ALL.map(|language| number(language, n)), expected);
        }
    }

    #[test]
    fn days_and_times_are_written_out() {
        let said = |date| PageLanguage::ALL.map(|language| day(language, date));
        let expected = ["March 1, 2026", "1. März 2026", "1er mars 2026", "1 de marzo de 2026"];
        assert_eq!(said(date(2026, 3, 1)), expected);
        assert_eq!(said(date(2026, 12, 23))[2..], ["23 décembre 2026", "23 de diciembre de 2026"]);
        // 2026-11-23T00:05Z and 13:00Z.
        for (at, expected) in [
            (1_795_392_300_000, ["November 23, 2026, 12:05 AM (UTC)", "23. November 2026, 00:05 Uhr (UTC)"]),
            (1_795_438_800_000, ["November 23, 2026, 1:00 PM (UTC)", "23. November 2026, 13:00 Uhr (UTC)"]),
        ] {
            assert_eq!([PageLanguage::En, PageLanguage::De].map(|language| minute(language, Millis(at))), expected);
        }
        let last = Millis(1_795_438_800_000);
        assert_eq!(minute(PageLanguage::Fr, last), "23 novembre 2026 à 13:00 (UTC)");
        assert_eq!(minute(PageLanguage::Es, last), "23 de noviembre de 2026, 13:00 (UTC)");
        assert_eq!(minute(PageLanguage::En, Millis(i64::MAX)), "");
    }
}
