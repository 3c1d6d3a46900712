//! Sizes with units: `512B`, `64KiB`, `1MiB`, `2GiB`.
//!
//! `MB` is rejected as ambiguous: it can mean 1,000,000 or 1,048,576 bytes.

/// Examples for messages.
pub(crate) const EXAMPLES: &str = "a size with a unit, such as \"512KiB\" or \"1MiB\"";

/// Units, largest first.
const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Parses a size in bytes; `None` if the text is invalid.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let (_, bytes) = UNITS.iter().find(|(unit, _)| *unit == text[digits..].trim_start())?;
    number.checked_mul(*bytes)
}

/// Formats bytes in the largest unit without a remainder.
pub(crate) fn show(bytes: u64) -> String {
    let fitting = UNITS.iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fitting.map_or_else(|| format!("{bytes}B"), |(name, unit)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn sizes_need_a_unit_that_says_what_it_means() {
        let table = [
            ("512B", Some(512)),
            ("64KiB", Some(65_536)),
            (" 1 MiB ", Some(1_048_576)),
            ("2GiB", Some(2_147_483_648)),
            ("0B", Some(0)),
            ("1MB", None),
            ("1mib", None),
            ("1024", None),
            ("", None),
            ("MiB", None),
            ("-1MiB", None),
            ("1.5MiB", None),
            ("99999999999999999999B", None),
            ("99999999999GiB", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_shown_is_read_as_the_same_size() {
        let table =
            [(0, "0B"), (1_000, "1000B"), (1 << 10, "1KiB"), (3 << 20, "3MiB"), (1 << 30, "1GiB"), (1536, "1536B")];
        for (bytes, expected) in table {
            assert_eq!(show(bytes), expected);
            assert_eq!(parse(&show(bytes)), Some(bytes));
        }
    }
}
