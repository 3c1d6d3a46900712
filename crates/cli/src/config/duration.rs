//! Durations with units: `250ms`, `20s`, `5m`, `2h`, `7d`, also combined (`1h30m`).

/// Maximum duration: 10 years. Longer ones are typos, and sums of durations must not overflow.
const LONGEST_MS: i64 = 10 * 365 * 86_400_000;

/// Examples for messages.
pub(crate) const EXAMPLES: &str = "a time with a unit, such as \"250ms\", \"20s\", \"5m\", \"2h\" or \"7d\"";

/// Parses a duration in milliseconds; `None` if the text is invalid.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match rest[..end].trim() {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        rest = &rest[end..];
        total = total.checked_add(number.checked_mul(unit)?)?;
    }
    (total <= LONGEST_MS).then_some(total)
}

/// Formats milliseconds in the two largest units.
pub(crate) fn show(ms: i64) -> String {
    let s = ms / 1000;
    match s {
        0 => format!("{ms} ms"),
        1..60 if ms < 10_000 => format!("{s}.{} s", ms % 1000 / 100),
        1..60 => format!("{s} s"),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        3600..86_400 => format!("{} h {} min", s / 3600, s % 3600 / 60),
        _ => format!("{} d {} h", s / 86_400, s % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn times_need_a_unit() {
        let table = [
            ("250ms", Some(250)),
            ("20s", Some(20_000)),
            (" 5m ", Some(300_000)),
            ("5 min", Some(300_000)),
            ("2h", Some(7_200_000)),
            ("7d", Some(604_800_000)),
            ("1h30m", Some(5_400_000)),
            ("0s", Some(0)),
            ("20", None),
            ("", None),
            ("s", None),
            ("-5s", None),
            ("1.5s", None),
            ("5 parsecs", None),
            ("99999999999999999999s", None),
            ("9999999d", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn times_are_shown_in_two_units() {
        let table =
            [(12, "12 ms"), (1_250, "1.2 s"), (42_000, "42 s"), (61_000, "1 min 1 s"), (7_260_000, "2 h 1 min")];
        for (ms, expected) in table {
            assert_eq!(show(ms), expected);
        }
    }
}
