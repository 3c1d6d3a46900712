//! Rows without an address: nobody is asked about them, and they cost nothing.

use probity_mail::address::{self, Address, bare_address, is_blank};

use serde::{Deserialize, Serialize};

use crate::column::{is_address, is_name, looks_like_address, trimmed};
use crate::recipients::recipients;

/// What programs write into a cell that has no value.
const NOTHING: [&str; 8] = ["n/a", "na", "nan", "nil", "none", "null", "undefined", "unknown"];
/// First words of a row that sums up or ends a list.
const SUMS: [&str; 16] = [
    "anzahl", "count", "end", "ende", "eof", "fin", "fine", "gesamt", "nombre", "rows", "somme", "sum", "suma",
    "summe", "total", "totale",
];

/// Whether a cell of the address column holds no address: it is blank, but for characters that nobody sees and marks of an end; it
/// repeats the header; or it is a number or a line, says that there is no value, or sums up or ends the list. Any other text is
/// meant as an address, valid or not.
pub fn is_absent(cell: &str, header: Option<&str>) -> bool {
    let cell = trimmed(cell);
    if cell.contains(['@', '\u{ff20}', '\u{fe6b}']) {
        return false;
    }
    let repeats = is_name(cell) || header.is_some_and(|header| trimmed(header) == cell);
    let is_number = |c: char| c.is_numeric() || c.is_whitespace() || "-_*~.,/():|\u{2013}\u{2014}".contains(c);
    repeats || cell.chars().all(is_number) || is_remark(cell)
}

/// Whether a text without an at sign stands where there is no address: a comment, a sum, the end of a list, no value.
fn is_remark(cell: &str) -> bool {
    let small = cell.to_lowercase();
    let mut words = small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let sums = SUMS.contains(&first) && small.contains(|c: char| c.is_whitespace() || c == ':');
    cell.starts_with('#') || NOTHING.contains(&&*small) || sums || (first == "eof" && words.next().is_none())
}

/// The address in a cell that has dirt around it ([`address::cleaned`]). `None` if there is none, or if nothing or several addresses
/// are within. Blanks alone are no dirt.
pub fn cleaned(cell: &str) -> Option<&str> {
    let bare = trimmed(cell);
    // A name before an address in brackets is understood as it is.
    if bare_address(bare).len() < bare.len() {
        return None;
    }
    let text = address::cleaned(bare);
    let is_other = text.len() < bare.len() || bare.len() < cell.trim_matches(is_blank).len();
    (is_other && is_address(text) && looks_like_address(text)).then_some(text)
}

/// Reason why a row is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// Its cell has no text, or repeats the header ([`is_absent`]).
    Blank,
    /// Its cell has this many addresses, so none of them is the row's.
    Several(usize),
    /// Its encoding is a guess, so the address may be another one.
    Guess,
}

/// Returns why a row is left out; `None` if its cell of the address column is meant as an address. `guessed`: its encoding is a
/// guess. A name before an address may be in any encoding.
pub fn absence(cell: &str, header: Option<&str>, guessed: bool) -> Option<Absence> {
    if is_absent(cell, header) {
        return Some(Absence::Blank);
    }
    if guessed && !bare_address(trimmed(cell)).is_ascii() {
        return Some(Absence::Guess);
    }
    several(cell).map(Absence::Several)
}

/// Counts the addresses in a cell that has several, however they are separated; `None` for one address, whatever its name or its
/// quoted local part looks like.
fn several(cell: &str) -> Option<usize> {
    const AROUND: [char; 8] = ['<', '>', '(', ')', '[', ']', '"', '\''];
    let cell = trimmed(cell);
    memchr::memchr_iter(b'@', cell.as_bytes()).nth(1)?;
    if let Some(parts) = recipients(cell) {
        return Some(parts.len());
    }
    // In front of brackets, a name has no separators, unless it is quoted.
    let name = cell.split_once('<').map_or("", |(name, _)| name);
    let is_list = !name.contains('"') && name.contains(['/', '|', '\n', '\r', '\t']);
    if !is_list && Address::parse(bare_address(cell)).is_ok() {
        return None;
    }
    let separates = |c: char| c.is_whitespace() || ",;|/:，；、｜／：".contains(c);
    let parts = cell.split(separates);
    let count =
        parts.map(|part| part.trim_matches(AROUND)).filter(|part| is_address(part) && looks_like_address(part)).count();
    (count > 1).then_some(count)
}

/// Counts the addresses in a cell that has nothing else.
pub(crate) fn addresses_in(cell: &str) -> usize {
    if is_address(cell) && looks_like_address(cell) { 1 } else { several(cell).unwrap_or_default() }
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
        for cell in [
            "-",
            "***",
            "0171 123",
            "2",
            "NULL",
            "n/a",
            "#N/A",
            "#EOF",
            "Total: 2 rows",
            "end of list",
            "Summe 3",
            "EOF",
        ] {
            assert!(is_absent(cell, None), "{cell:?}");
        }
        let meant = [
            "a@x.org",
            "a",
            "Contact",
            "email@x.org",
            "a@x.org; b@x.org",
            "\u{a0}a@x.org",
            "a\u{ff20}x.org",
            "total",
            "endo",
        ];
        for cell in meant {
            assert!(!is_absent(cell, Some("Kontakt")), "{cell:?}");
        }
        assert!(!is_absent("Kontakt", None));
        let guesses =
            ["a@\u{ef}\u{f0}.org", "\u{e6} <a@\u{f8}.org>", "a@x.org\u{a0}", "\u{e6}\u{f8} <ann@example.org>"];
        let guess = Some(Absence::Guess);
        assert_eq!(guesses.map(|cell| absence(cell, None, true)), [guess, guess, None, None]);
        assert_eq!(guesses.map(|cell| absence(cell, None, false)), [None; 4]);
        assert_eq!(absence("Kontakt", Some("Kontakt"), true), Some(Absence::Blank));
    }

    #[test]
    fn dirt_around_an_address_is_taken_away() {
        for cell in [
            "mailto:a@x.org",
            "MAILTO:a@x.org?subject=hi",
            "(a@x.org)",
            "'a@x.org'",
            "\"a@x.org\"",
            "a@x.org;",
            "a@x.org,",
            "\u{201c}a@x.org\u{201d}",
            "\u{201e}a@x.org\u{201c}",
            "\u{ab}\u{a0}a@x.org\u{a0}\u{bb}",
            "['mailto:a@x.org'];",
            "a@x.org\0\0",
            "*a@x.org*",
            "a@x.org\u{2122}",
            "Cc: a@x.org",
        ] {
            assert_eq!(cleaned(cell), Some("a@x.org"), "{cell:?}");
        }
        let kept = [
            "a@x.org",
            " a@x.org\u{a0}",
            "mailto:",
            "mailto:a%2B@x.org",
            "(a)",
            "a@x.org; b@x.org",
            "'a@x.org",
            "\"a b\"@x.org",
        ];
        for cell in kept {
            assert_eq!(cleaned(cell), None, "{cell:?}");
        }
    }

    #[test]
    fn several_addresses_in_a_cell_are_counted() {
        let table = [
            ("ann@shop.example ::: ann.roe@home.example", 2),
            ("bob@shop.example\nbob@home.example", 2),
            ("cid@shop.example; cid@home.example;dee@x.org", 3),
            ("a@x.org b@x.org", 2),
            ("a@x.org / b@x.org", 2),
            ("a@x.org/b@x.org", 2),
            ("a@x.org | b@x.org", 2),
            ("a@x.org / Bob <b@x.org>", 2),
            ("a@x.org\nBob <b@x.org>", 2),
            ("a@x.org；b@x.org", 2),
            ("a@x.org (old: b@x.org)", 2),
            ("Ann <a@x.org> Bob <b@x.org>", 2),
            ("mailto:a@x.org mailto:b@x.org", 2),
            ("private: a@x.org, work: b@x.org", 2),
            ("\u{a0}ü@x.org;b@x.org\u{200b}", 2),
        ];
        for (cell, count) in table {
            assert_eq!(absence(cell, None, false), Some(Absence::Several(count)), "{cell:?}");
        }
        let single = [
            "a@x.org",
            "ann@x.org <ann@x.org>",
            "\"ann@x.org\" <ann@x.org>;",
            "\"a@x.org b@x.org\"@x.org",
            "Doe, Ann <a@x.org>",
            "a@x.org; Ann",
            "a@@x.org",
            "a@b@x.org",
            "ann@home @work",
            "no address at all",
        ];
        for cell in single {
            assert_eq!(absence(cell, None, false), None, "{cell:?}");
        }
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
