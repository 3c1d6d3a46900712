//! Dirt around an address: what spreadsheets, documents, pages and people leave there.
//!
//! Only what no address has at its ends is taken away, so a text that is an address keeps its meaning. What remains is judged like
//! any other text.

use super::is_blank;
use super::local::is_leading_punctuation;
use crate::domain::is_letter_or_digit;

/// Names of fields that programs and people put before an address, in lower case; those of a header in several languages.
const LABELS: [&str; 21] = [
    "mailto", "smtp", "email", "e-mail", "mail", "to", "cc", "bcc", "from", "reply-to", "an", "von", "kopie", "à",
    "de", "cci", "para", "cco", "a", "da", "ccn",
];
/// Schemes of links to pages, which some programs make of addresses.
const SCHEMES: [&str; 2] = ["http", "https"];
/// Brackets around an address. Angle brackets have their own meaning, and typographic ones need no other half.
const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// Longest text that is cleaned, in bytes: each layer that is taken away costs a look at all of it.
const CLEANED_MAX: usize = 1_024;

/// The text without what surrounds its address: typographic marks, pairs of quotes, brackets and other marks, names of fields
/// (`mailto:`, `To:`), separators and the parameters of a link behind it.
///
/// A text that is much too long for an address and its surroundings stays as it is.
pub fn cleaned(text: &str) -> &str {
    let mut text = text;
    if text.len() > CLEANED_MAX {
        return text;
    }
    loop {
        let before = text;
        text = without_marks(text);
        text = without_pair(text);
        text = without_label(text);
        text = without_parameters(text);
        if text == before {
            return text;
        }
    }
}

/// A typographic mark, with which no domain ends: neither ASCII nor a letter, a digit or a combining mark.
fn is_typographic(c: char) -> bool {
    c == '\u{fe0f}' || !(c.is_ascii() || is_letter_or_digit(c))
}

/// Without blanks and typographic marks at both ends, separators behind, and a bullet or an equals sign of a formula before.
fn without_marks(text: &str) -> &str {
    let text = text.trim_end_matches(|c| is_blank(c) || matches!(c, ',' | ';') || is_typographic(c));
    let text = text.trim_start_matches(|c| is_blank(c) || is_leading_punctuation(c));
    let mark = text.find(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | '@')).unwrap_or_default();
    let (bullet, rest) = text.split_at(mark);
    let is_comment = bullet.starts_with('#');
    let is_bullet = bullet.ends_with(is_blank) && !is_comment || bullet == "=" && rest.starts_with('"');
    if is_bullet { rest } else { text }
}

/// Without a pair of brackets or of any mark in ASCII. No domain ends with one, so a mark before it is no part of the mailbox; one
/// before may be doubled.
fn without_pair(text: &str) -> &str {
    let bracketed = BRACKETS.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    if let Some(inner) = bracketed {
        return inner;
    }
    match text.chars().next() {
        Some(mark) if mark.is_ascii_punctuation() && !matches!(mark, '@' | '.') && text.ends_with(mark) => {
            text.trim_matches(mark)
        }
        _ => text,
    }
}

/// Without the name of a field or the scheme of a link. Links encode characters (RFC 6068 §2): what they decode to is not guessed.
fn without_label(text: &str) -> &str {
    let Some((label, address)) = text.split_once(':') else { return text };
    let label = label.trim_end_matches(is_blank).to_lowercase();
    match address.strip_prefix("//") {
        Some(address) if SCHEMES.contains(&&*label) => address.strip_suffix('/').unwrap_or(address),
        _ if LABELS.contains(&&*label) && !address.split('?').next().unwrap_or_default().contains('%') => address,
        _ => text,
    }
}

/// Without the parameters of a link behind the domain: `ann@example.org?subject=Hello`.
fn without_parameters(text: &str) -> &str {
    let Some((local, domain)) = text.split_once('@') else { return text };
    match domain.find('?') {
        Some(at) if !local.contains(['%', '"']) => &text[..local.len() + 1 + at],
        _ => text,
    }
}

/// A local part without the mark that spreadsheets and documents put before a text: an apostrophe or an equals sign.
/// Such a mailbox can exist, so it is asked as it is.
pub(crate) fn without_lead(local: &str) -> &str {
    let is_lead = |c: char| matches!(c, '\'' | '`' | '=');
    let bare = local.trim_start_matches(is_lead);
    let is_whole = bare.starts_with(char::is_alphanumeric) && !bare.ends_with(|c| is_lead(c) || is_typographic(c));
    if is_whole { bare } else { local }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::address::Address;

    #[test]
    fn what_surrounds_an_address_is_taken_away() {
        for (before, behind) in [
            ("*", "*"),
            ("**", "**"),
            ("**", "*"),
            ("_", "_"),
            ("~", "~"),
            ("!", "!"),
            ("|", "|"),
            ("/", "/"),
            ("&", "&"),
            ("^", "^"),
            ("`", "`"),
            ("(", ")"),
            ("[", "];"),
            ("{", "}"),
            ("\u{ff08}", "\u{ff09}"),
            ("\u{3010}", "\u{3011}"),
            ("'", "'"),
            ("\"'", "'\""),
            ("=\"", "\""),
            ("\u{201c}", "\u{201d}"),
            ("\u{201e}", "\u{201c}"),
            ("\u{201c}", ""),
            ("\u{ab}\u{a0}", "\u{a0}\u{bb}"),
            ("", "\u{2122}"),
            ("\u{2022} ", "\u{2022}"),
            ("", " \u{2192} "),
            ("", "\u{2013}"),
            ("", "\u{3001}"),
            ("", "\u{1f4e7}"),
            ("\u{1f4e7}\u{fe0f} ", ""),
            ("", "\u{b9}"),
            ("- ", ""),
            ("* ", ", "),
            ("> ", ""),
            ("mailto:", "?subject=Hello%20you"),
            ("", "?subject=hi"),
            ("MAILTO:", "?cc=bob@example.com"),
            ("E-Mail: ", ""),
            ("To: ", ";"),
            ("\u{c0}\u{a0}: ", ""),
            ("http://", "/"),
            ("https://", ""),
            ("['mailto:", "'];"),
        ] {
            assert_eq!(cleaned(&format!("{before}ann@example.org{behind}")), "ann@example.org", "{before} {behind}");
        }
    }

    #[test]
    fn what_may_be_part_of_an_address_stays() {
        for text in [
            "",
            "'ann@example.org",
            "=ann@example.org",
            "_ann@example.org",
            "ann@example.org*",
            ".ann@example.org.",
            "# ann@example.org",
            "Ann: ann@example.org",
            "\u{1f4a9}@example.org",
            "\u{2192}ann@example.org",
            "a?b@example.org",
            "mailto:a%2Bb@example.org",
            "http:ann@example.org",
            "\"a b\"@example.org",
            "ann@\u{920}\u{e4c}.th\u{e4c}",
        ] {
            assert_eq!(cleaned(text), text, "{text:?}");
        }
        let leads = ["'ann", "=ann", "`ann", "\u{2192}ann", "'o'brien", "'ann'", "''", "*ann", "_ann", "="];
        let bare = ["ann", "ann", "ann", "\u{2192}ann", "o'brien", "'ann'", "''", "*ann", "_ann", "="];
        assert_eq!(leads.map(without_lead), bare);
    }

    proptest! {
        #[test]
        fn addresses_keep_their_meaning(local in "[a-z'*=_!\"?/\u{1f4a9}\u{2192}\u{201c}.-]{1,8}", domain in "[a-z\u{4e8c}\u{1f4a9}-]{1,6}\\.[a-z\u{4e8c}]{2,3}") {
            let text = format!("{local}@{domain}");
            if Address::parse(&text).is_ok() {
                prop_assert_eq!(cleaned(&text), &text);
            }
        }
    }
}
