//! Corrections of text that is no address: a dot at the end of the local part, a comma for a dot, two at signs.
//!
//! The repair is a fixed order of small steps, each of which only takes away or replaces what can stand in no address;
//! what comes out must be an address with a real ending, else nothing is suggested. The domain is then looked at like
//! any other one.

use super::ending;
use super::written_local;
use crate::facts::lists::Lists;

/// Longest text that is looked at, in bytes; an address has at most 254.
const TEXT_BYTES_MAX: usize = 320;
/// Words that people write for `@` to hide an address from robots.
const WRITTEN_AT: [&str; 4] = ["(at)", "[at]", "{at}", " at "];
/// Keys beside `@` or its shifted forms on common keyboards, taken for it only before a popular domain.
const BESIDE_AT: [char; 7] = ['#', '!', '$', '%', '&', '*', '"'];

impl Lists {
    /// The whole address that was probably meant by any text, parsable or not. Never the text itself.
    pub fn suggest_text(&self, raw: &str) -> Option<String> {
        let given = raw.trim();
        if given.is_empty() || given.len() > TEXT_BYTES_MAX {
            return None;
        }
        let text = unwrapped(given);
        let (local, domain) = self.halves(&text)?;
        let local = clean_local(&local)?;
        let domain = clean_domain(&domain)?;
        let meant = match self.suggest_domain(&domain) {
            Some(meant) => meant,
            None if ending::cut(&domain).is_some_and(|cut| cut.real) && !self.disposable(&domain) => domain,
            None => return None,
        };
        let address = format!("{}@{}", written_local(&local), meant);
        (!address.eq_ignore_ascii_case(given)).then_some(address)
    }

    /// Local part and domain around the last at sign, or around what stands for one.
    fn halves(&self, text: &str) -> Option<(String, String)> {
        if let Some((local, domain)) = text.rsplit_once('@') {
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

/// Without `mailto:`, angle brackets, white space at odd places and what cannot be seen.
fn unwrapped(given: &str) -> String {
    let bare = given.strip_prefix("mailto:").unwrap_or(given);
    let inner = bare.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')).map_or(bare, |(_, inner)| inner);
    inner.chars().filter(|c| !is_invisible(*c)).map(|c| if c == '\u{ff20}' { '@' } else { c }).collect()
}

/// Zero-width characters and controls that come with pasted text.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

/// A local part without stray dots, white space and commas; `None` when another sign is left that no dot-atom has.
fn clean_local(local: &str) -> Option<String> {
    if local.starts_with('"') {
        return None;
    }
    let dotted: String = local.chars().filter(|c| !c.is_whitespace()).map(|c| if c == ',' { '.' } else { c }).collect();
    let atoms: Vec<&str> = dotted.split('.').filter(|atom| !atom.is_empty()).collect();
    let clean = atoms.join(".");
    let is_atext = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c) || !c.is_ascii();
    (!clean.is_empty() && clean.len() <= 64 && clean.chars().all(is_atext)).then_some(clean)
}

/// A domain in lower-case A-labels without stray signs; `None` when it is none even then.
fn clean_domain(domain: &str) -> Option<String> {
    let dotted: String = domain
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| if matches!(c, ',' | ';' | ':' | '\u{3002}' | '\u{ff0e}') { '.' } else { c })
        .collect();
    let trimmed = dotted.trim_matches(|c: char| !c.is_alphanumeric());
    let joined = trimmed.split('.').filter(|label| !label.is_empty()).collect::<Vec<_>>().join(".");
    let ascii = if joined.is_ascii() { joined.to_ascii_lowercase() } else { idna::domain_to_ascii(&joined).ok()? };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    (ascii.len() <= 253 && ascii.split('.').all(is_label)).then_some(ascii)
}
