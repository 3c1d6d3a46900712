//! Rows without an address: nobody is asked about them, and they cost nothing.

use probity_mail::address::bare_address;

use crate::column::{is_address, is_name, looks_like_address, trimmed};

/// Whether a cell of the address column holds no address: it is blank, but for characters that nobody sees and marks of an end, or
/// repeats the header. Any other text is meant as an address, valid or not.
pub fn is_absent(cell: &str, header: Option<&str>) -> bool {
    let cell = trimmed(cell);
    cell.is_empty() || (!cell.contains('@') && (is_name(cell) || header.is_some_and(|header| trimmed(header) == cell)))
}

/// Whether an address may be another one, because its encoding is a guess: nothing certain can be said of it, so nobody is asked.
/// A name before it may be in any encoding.
pub fn is_guess(cell: &str, guessed: bool) -> bool {
    guessed && !bare_address(trimmed(cell)).is_ascii()
}

/// Whether a cell has something like an address, so that its column is one of addresses.
pub fn has_address(cell: &str) -> bool {
    cell.contains('@') && (looks_like_address(cell) || is_address(cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_marks_and_headers_are_no_address() {
        let absent = [
            "",
            " \t",
            "\u{a0}\u{200b}",
            "\u{1a}",
            "\0\0",
            "\u{feff}",
            "E-Mail",
            "email ",
            "Kontakt",
            "\u{feff}Kontakt",
        ];
        for cell in absent {
            assert!(is_absent(cell, Some("Kontakt")), "{cell:?}");
        }
        for cell in ["a@x.org", "a", "-", "Contact", "email@x.org", "a@x.org; b@x.org", "\u{a0}a@x.org"] {
            assert!(!is_absent(cell, Some("Kontakt")), "{cell:?}");
        }
        assert!(!is_absent("Kontakt", None));
        let guesses =
            ["a@\u{ef}\u{f0}.org", "\u{e6} <a@\u{f8}.org>", "a@x.org\u{a0}", "\u{e6}\u{f8} <ann@example.org>"];
        assert_eq!(guesses.map(|cell| is_guess(cell, true)), [true, true, false, false]);
        assert_eq!(guesses.map(|cell| is_guess(cell, false)), [false; 4]);
    }

    #[test]
    fn an_address_is_told_from_a_name() {
        for cell in ["a@x.org", "A <a@x.org>", "ann@localhost", "ü@ü", "a@x.org\u{a0}"] {
            assert!(has_address(cell), "{cell}");
        }
        for cell in ["", "Ann", "@", "@ann", "a@", "ann at x.org"] {
            assert!(!has_address(cell), "{cell}");
        }
    }
}
