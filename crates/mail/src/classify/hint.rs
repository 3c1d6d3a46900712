//! Retry delays in replies: "try again in 300 seconds", "greylisted for 5 minutes", "retry in 00:04:59".

/// Longest delay that is accepted: a day.
const WAIT_MAX_MS: i64 = 86_400_000;

/// Maximum number of words between the announcement of a delay and its number ("for at least another 5 minutes").
const LEAD_MAX: usize = 4;

/// The delay in plain words, in milliseconds: a number with a unit behind a word that announces it. "error 300" is none; "5
/// messages in 60 seconds" is read as one, which does no harm.
pub(super) fn retry_after_ms(words: &[u8]) -> Option<i64> {
    if !words.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let words: Vec<&[u8]> = words.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    let mut lead = 0;
    for (index, word) in words.iter().enumerate() {
        if announces(word) {
            lead = LEAD_MAX;
            continue;
        }
        if lead > 0 {
            if let Some(wait) = duration(&words[index..]) {
                return Some(wait.min(WAIT_MAX_MS));
            }
            lead -= 1;
        }
    }
    None
}

fn announces(word: &[u8]) -> bool {
    matches!(
        word,
        b"in"
            | b"for"
            | b"after"
            | b"wait"
            | b"least"
            | b"within"
            | b"another"
            | b"next"
            | b"retry"
            | b"delay"
            | b"dans"
            | b"nach"
            | b"fur"
            | b"fuer"
            | b"pour"
            | b"za"
            | b"cherez"
            | b"tra"
            | b"fra"
            | b"en"
            | b"em"
    )
}

/// A duration at the start of some words: `300 seconds`, `300s`, `4 minutes 59 seconds`, `1 hour and 5 minutes`,
/// `00 04 59` (a clock reading, whose colons are blanks in plain words).
fn duration(words: &[&[u8]]) -> Option<i64> {
    if let [hours, minutes, seconds, ..] = words {
        let clock = (two_digits(hours), two_digits(minutes), two_digits(seconds));
        if let (Some(hours), Some(minutes), Some(seconds)) = clock {
            return Some(((hours * 60 + minutes) * 60 + seconds) * 1000);
        }
    }
    let (mut wait, mut rest) = amount(words)?;
    if let [b"and" | b"und" | b"et", tail @ ..] = rest {
        rest = tail;
    }
    if let Some((more, _)) = amount(rest) {
        wait += more;
    }
    Some(wait)
}

/// A number and its unit, in one word or two.
fn amount<'w, 'b>(words: &'w [&'b [u8]]) -> Option<(i64, &'w [&'b [u8]])> {
    let (first, rest) = words.split_first()?;
    let digits = first.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = number(&first[..digits])?;
    if digits < first.len() {
        return Some((number * unit_ms(&first[digits..])?, rest));
    }
    let (unit, rest) = rest.split_first()?;
    Some((number * unit_ms(unit)?, rest))
}

fn unit_ms(word: &[u8]) -> Option<i64> {
    match word {
        b"s" | b"seconds" | b"second" | b"secs" | b"sec" | b"sekunden" | b"secondes" | b"segundos" | b"secondi" => {
            Some(1000)
        }
        b"m" | b"minutes" | b"minute" | b"mins" | b"min" | b"minuten" | b"minutos" | b"minuti" | b"minut" => {
            Some(60_000)
        }
        b"h" | b"hours" | b"hour" | b"hrs" | b"hr" | b"stunden" | b"stunde" | b"heures" | b"heure" | b"horas"
        | b"ore" => Some(3_600_000),
        b"days" | b"day" => Some(WAIT_MAX_MS),
        _ => None,
    }
}

/// A number of up to six digits.
fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    digits.iter().try_fold(0_i64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

fn two_digits(word: &[u8]) -> Option<i64> {
    if word.len() == 2 { number(word) } else { None }
}

#[cfg(test)]
mod tests {
    use super::retry_after_ms;
    use crate::classify::words::plain;

    #[test]
    fn waits_are_found_in_many_forms() {
        let cases = [
            ("Try again in 300 seconds.", Some(300)),
            ("Greylisted for 5 minutes", Some(300)),
            ("Greylisted, retry in 00:04:59", Some(299)),
            ("please wait at least 10 min", Some(600)),
            ("come back in 1 hour", Some(3600)),
            ("Try again in 4 minutes 59 seconds", Some(299)),
            ("retry in 1 hour and 5 minutes", Some(3900)),
            ("postgrey: delayed for 298s", Some(298)),
            ("bitte in 5 Minuten erneut versuchen", Some(300)),
            ("R\u{e9}essayez dans 10 minutes", Some(600)),
            ("Try again in 30 days", Some(86_400)),
            ("Try again later", None),
            ("Error 451 for 12 users", None),
            ("blocked 10.0.0.1 in 2024", None),
            ("in 99999999999999999999 seconds", None),
        ];
        for (text, seconds) in cases {
            assert_eq!(retry_after_ms(&plain(text)), seconds.map(|s: i64| s * 1000), "{text}");
        }
    }
}
