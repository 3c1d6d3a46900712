//! Corrections of text that is no address: dirt around it, a comma for a dot in the domain, two at signs.
//!
//! The local part names a mailbox, and a similar one is somebody else's. So only dirt is taken away from it ([`cleaned`]), blanks and
//! what cannot be seen around it. A dot too many, a comma, a blank or a soft hyphen inside or a quote behind it leave nothing to
//! suggest. Of the domain, signs that no domain has are removed or replaced; the result must be an address
//! with a real ending. The domain is then corrected like any other one.

use super::ending;
use crate::address::{Address, bare_address, cleaned, is_blank, trimmed, without_lead};
use crate::facts::lists::Lists;

/// Longest text that is looked at, in bytes; an address has at most 254.
const TEXT_BYTES_MAX: usize = 320;
/// Words that people write for `@` to hide an address from robots.
const WRITTEN_AT: [&str; 4] = ["(at)", "[at]", "{at}", " at "];
/// Keys beside `@` or its shifted forms on common keyboards, taken for it only before a popular domain.
const BESIDE_AT: [char; 7] = ['#', '!', '$', '%', '&', '*', '"'];
/// Quotes of people and programs, which stand around an address in pairs.
const QUOTES: [(char, char); 9] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('\u{201c}', '\u{201d}'),
    ('\u{201e}', '\u{201c}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{201a}', '\u{2018}'),
    ('\u{ab}', '\u{bb}'),
    ('\u{bb}', '\u{ab}'),
];
/// What stands behind a comma in a name: no local part of its own.
const SUFFIXES: [&str; 9] = ["jr", "sr", "ii", "iii", "iv", "phd", "md", "esq", "dr"];

impl Lists {
    /// The whole address that was probably meant by any text, parsable or not. Never the text itself.
    pub fn suggest_text(&self, raw: &str) -> Option<String> {
        let given = raw.trim();
        if given.is_empty() || given.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (local, domain) = self.halves(unwrapped(given))?;
        let local = clean_local(&local)?;
        let domain = clean_domain(&domain)?;
        let meant = match self.suggest_domain(&domain) {
            Some(meant) if !self.suggester.is_guess(&domain, &meant) => meant,
            _ if ending::cut(&domain).is_some_and(|cut| cut.real) && !self.disposable(&domain) => domain,
            _ => return None,
        };
        let address = format!("{local}@{meant}");
        (!address.eq_ignore_ascii_case(given) && Address::parse(&address).is_ok()).then_some(address)
    }

    /// Local part and domain around the last at sign, or around what stands for one.
    fn halves(&self, text: &str) -> Option<(String, String)> {
        if let Some((local, domain)) = text.rsplit_once(['@', '\u{ff20}']) {
            return Some((local.trim_end_matches('@').to_owned(), domain.to_owned()));
        }
        let lower = text.to_ascii_lowercase();
        for written in WRITTEN_AT {
            if let Some(at) = lower.find(written) {
                return Some((text[..at].to_owned(), text[at + written.len()..].replace(" dot ", ".")));
            }
        }
        let at = lower.rfind(BESIDE_AT)?;
        let domain = &lower[at + 1..];
        self.suggester.is_popular(domain).then(|| (text[..at].to_owned(), domain.to_owned()))
    }
}

/// The text without what spreadsheets, mail programs and people put around an address.
fn unwrapped(given: &str) -> &str {
    let mut text = given;
    loop {
        let inner = without_layer(text);
        if inner == text {
            return text;
        }
        text = inner;
    }
}

/// The text without its outermost layer of dirt; the text itself if there is none.
fn without_layer(text: &str) -> &str {
    let text = cleaned(text);
    let named = Some(bare_address(text)).filter(|address| *address != text);
    named
        .or_else(|| without_comment(text))
        .or_else(|| without_rest(text))
        .or_else(|| without_name(text))
        .or_else(|| text.strip_prefix('<'))
        .unwrap_or(text)
}

fn without_quotes(text: &str) -> Option<&str> {
    QUOTES.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
}

/// A comment behind the address: `ann@example.org (work)`.
fn without_comment(text: &str) -> Option<&str> {
    let (address, comment) = text.strip_suffix(')')?.rsplit_once('(')?;
    (address.contains('@') && !comment.contains('@')).then_some(address)
}

/// What follows behind an address: `ann@example.org Tel: 1`.
fn without_rest(text: &str) -> Option<&str> {
    let (_, domain) = text.split_once('@')?;
    let (address, rest) = text.split_at(text.len() - domain.len() + domain.find(is_blank)?);
    (rest.contains(':') && !rest.contains('@')).then_some(address)
}

/// The address behind a name or another cell: `Lee, ann@example.org`, `Ann Lee,ann@example.org`, `Ann,ann@example.org`. Where the
/// comma may be meant for a dot (`lee,ann@example.org`), nobody can say who is meant.
fn without_name(text: &str) -> Option<&str> {
    let (name, address) = text.rsplit_once(['\t', ',', ';'])?;
    let (local, _) = address.split_once('@')?;
    let is_cell = text[name.len()..].starts_with('\t') || address.starts_with(is_blank);
    let is_suffix = SUFFIXES.iter().any(|suffix| local.eq_ignore_ascii_case(suffix));
    let is_name = (name.contains(is_blank) && !is_suffix) || name.eq_ignore_ascii_case(local);
    ((is_cell || is_name) && !name.contains('@')).then_some(address)
}

/// A local part without blanks and quotes around it and without a mark before it; `None` for a quote behind it and for what cannot
/// be seen.
fn clean_local(local: &str) -> Option<String> {
    let bare = trimmed(local);
    let bare = without_lead(without_quotes(bare).unwrap_or(bare));
    let is_quote = |c: char| QUOTES.iter().any(|(open, close)| c == *open || c == *close);
    if bare.starts_with(is_quote) || bare.ends_with(is_quote) {
        return None;
    }
    let is_seen = bare.chars().all(|c| c.is_whitespace() || !is_blank(c));
    is_seen.then(|| bare.to_owned())
}

/// A domain in lower-case A-labels without stray signs; `None` for labels that have no such form.
fn clean_domain(domain: &str) -> Option<String> {
    let seen: String = domain.chars().filter(|c| c.is_whitespace() || !(is_blank(*c) || c.is_control())).collect();
    // Another cell begins behind a whole domain: `acme.com;DE`.
    let is_whole = |before: &str| ending::cut(&before.to_ascii_lowercase()).is_some_and(|cut| cut.real);
    if seen.match_indices([',', ';', ':']).any(|(at, _)| is_whole(&seen[..at])) {
        return None;
    }
    let dot = |c: char| if matches!(c, ',' | ';' | ':' | '\u{3002}' | '\u{ff0e}') { '.' } else { c };
    let dotted: String = seen.trim_matches(|c: char| !c.is_alphanumeric()).chars().map(dot).collect();
    // A blank beside a dot is a slip; one inside a label makes two words.
    let labels = dotted.split('.').map(str::trim).filter(|label| !label.is_empty());
    let joined = labels.collect::<Vec<_>>().join(".");
    if joined.is_ascii() { Some(joined.to_ascii_lowercase()) } else { idna::domain_to_ascii(&joined).ok() }
}
