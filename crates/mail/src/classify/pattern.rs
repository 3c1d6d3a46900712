//! The small patterns of a rule: reply codes, enhanced codes and phrases.

use super::parties::DialogParties;
use super::words::{self, HOST, LINK};
use crate::smtp::reply::Enhanced;

/// A reply code (`550`) or a class of them (`5xx`), as the range of codes that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePattern {
    first: u16,
    last: u16,
}

impl CodePattern {
    /// All codes of a class.
    pub(super) fn class(class: u16) -> Self {
        Self { first: class * 100, last: class * 100 + 99 }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "2xx" => Some(Self::class(2)),
            "4xx" => Some(Self::class(4)),
            "5xx" => Some(Self::class(5)),
            _ => {
                let code: u16 = text.parse().ok()?;
                (200..=599).contains(&code).then_some(Self { first: code, last: code })
            }
        }
    }

    pub(super) fn fits(self, code: u16) -> bool {
        (self.first..=self.last).contains(&code)
    }

    /// Whether the pattern covers any code of a class.
    pub(super) fn touches(self, class: u16) -> bool {
        self.first / 100 == class
    }
}

/// An enhanced code: `5.1.1`, `5.7.*`, `x.2.2` (any class), `5.7.606-649`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnhancedPattern {
    /// None is any class.
    pub(super) class: Option<u8>,
    subject: u16,
    first: u16,
    last: u16,
}

impl EnhancedPattern {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let class = match parts.next()? {
            "x" => None,
            "2" => Some(2),
            "4" => Some(4),
            "5" => Some(5),
            _ => return None,
        };
        let subject = parts.next()?.parse().ok()?;
        let detail = parts.next()?;
        let (first, last) = match detail.split_once('-') {
            _ if detail == "*" => (0, 999),
            Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            None => (detail.parse().ok()?, detail.parse().ok()?),
        };
        (parts.next().is_none() && first <= last).then_some(Self { class, subject, first, last })
    }

    pub(super) fn fits(self, code: Enhanced) -> bool {
        self.class.is_none_or(|class| class == code.class)
            && self.subject == code.subject
            && (self.first..=self.last).contains(&code.detail)
    }
}

/// Mark for any address in a phrase.
const ADDRESS_MARK: &str = "{addr}";
/// Mark for our MAIL FROM in a phrase.
const OUR_ADDRESS_MARK: &str = "{us}";
/// Mark for the beginning of a host name's label in a phrase.
const LABEL_MARK: &str = "{host}";
/// Mark for a URL with an IP address, a phrase of its own.
const LINK_MARK: &str = "{link}";
/// Placeholder for our MAIL FROM while a phrase is parsed.
const OUR_ADDRESS: &str = "us@us";

/// One step of a phrase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Element {
    /// Text to find, in plain words; a blank marks the start or end of a word.
    pub(super) what: StepTarget,
    /// Gap to the element before.
    pub(super) gap: Gap,
}

/// Gap between two steps of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    /// Nothing.
    None,
    /// Any short text (`*`).
    Any,
    /// A shorter text without words of the list `other` (`~`).
    Clear,
    /// Nothing, and no clause ends between them (`&`).
    Within,
}

/// Target of one step of a phrase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepTarget {
    /// This text.
    Literal(Literal),
    /// Any entry of the list of words with this name.
    Class(String),
}

/// A text to find in plain words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Literal {
    pub(super) text: Vec<u8>,
    /// Whether the clause must end behind it, or go on with a noun for the recipient (`$`).
    pub(super) closes: bool,
}

/// The steps of a phrase. `*` matches any short text: `blacklist*` finds `blacklisted`, `user * unknown` finds `user smith
/// unknown`. `~` matches a shorter text without words of the list `other`; `&` joins neighbours in one clause. `<who>` matches any
/// entry of the list of words `who`.
/// `unknown$` is no `unknown` of something else: the clause ends there, or goes on with a noun for the recipient.
pub(super) fn phrase(text: &str) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    let bare = text.strip_suffix('$');
    let (mut rest, mut gap, mut open_start) = (bare.unwrap_or(text), Gap::None, false);
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('*') {
            (rest, gap, open_start) = (tail, Gap::Any, true);
        } else if let Some(tail) = rest.strip_prefix('~') {
            (rest, gap, open_start) = (tail, Gap::Clear, false);
        } else if let Some(tail) = rest.strip_prefix('&') {
            (rest, gap, open_start) = (tail, Gap::Within, false);
        } else if let Some((name, tail)) = rest.strip_prefix('<').and_then(|tail| tail.split_once('>')) {
            elements.push(Element { what: StepTarget::Class(name.to_owned()), gap });
            (rest, gap, open_start) = (tail, Gap::None, false);
        } else {
            let end = rest.find(['*', '~', '&', '<']).unwrap_or(rest.len());
            let (piece, tail) = rest.split_at(end);
            if !piece.trim().is_empty() {
                let text = literal(piece, open_start, tail.starts_with('*'))?;
                let literal = Literal { text, closes: false };
                elements.push(Element { what: StepTarget::Literal(literal), gap });
                gap = Gap::None;
            }
            (rest, open_start) = (tail, false);
        }
    }
    if let Some(first) = elements.first_mut() {
        first.gap = Gap::None;
    }
    match &mut elements.last_mut()?.what {
        StepTarget::Literal(literal) => literal.closes = bare.is_some(),
        StepTarget::Class(_) if bare.is_some() => return None,
        StepTarget::Class(_) => {}
    }
    Some(elements)
}

/// A piece in plain words, without the blank at an end where a star touches a word.
fn literal(piece: &str, star_before: bool, star_after: bool) -> Option<Vec<u8>> {
    if piece == LINK_MARK {
        return Some(vec![b' ', LINK, b' ']);
    }
    let mut literal = plain(piece);
    if piece.starts_with(LABEL_MARK) {
        literal[0] = HOST;
    }
    if star_before && !piece.starts_with(' ') {
        literal.remove(0);
    }
    if star_after && !piece.ends_with(' ') {
        literal.pop();
    }
    literal.iter().any(|byte| *byte != b' ').then_some(literal)
}

/// The plain words of a piece, marks included.
fn plain(piece: &str) -> Vec<u8> {
    // Most pieces are in plain words already, and every start reads more than ten thousand.
    if piece.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b' ')) {
        let words = piece.split(' ').filter(|word| !word.is_empty());
        return words.fold(vec![b' '], |plain, word| [&plain, word.as_bytes(), b" "].concat());
    }
    let text = piece.trim_start_matches(LABEL_MARK).replace(ADDRESS_MARK, "a@b").replace(OUR_ADDRESS_MARK, OUR_ADDRESS);
    let parties = DialogParties { sender: OUR_ADDRESS, ..DialogParties::default() };
    words::plain_between(&text, &parties).0
}

#[cfg(test)]
mod tests {
    use super::{CodePattern, Element, EnhancedPattern, Gap, Literal, StepTarget, phrase, plain};
    use crate::classify::words;
    use crate::smtp::reply::Enhanced;

    #[test]
    fn code_patterns_are_codes_or_classes() {
        let class = CodePattern::parse("5xx").expect("a class");
        assert!(class.fits(500) && class.fits(599) && !class.fits(499));
        assert!(CodePattern::parse("550").expect("a code").fits(550));
        for bad in ["", "55", "xxx", "600", "5x0"] {
            assert_eq!(CodePattern::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn enhanced_patterns_know_ranges_and_stars() {
        let fits = |pattern: &str, detail| {
            EnhancedPattern::parse(pattern).expect("a pattern").fits(Enhanced { class: 5, subject: 7, detail })
        };
        assert!(fits("5.7.606-649", 606) && fits("5.7.606-649", 649) && !fits("5.7.606-649", 650));
        assert!(fits("x.7.*", 1) && fits("5.7.1", 1) && !fits("4.7.1", 1) && !fits("5.1.1", 1));
        for bad in ["", "5.1", "5.1.1.1", "6.1.1", "5.a.1", "5.7.9-1"] {
            assert_eq!(EnhancedPattern::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn pieces_in_plain_words_are_read_like_texts() {
        for piece in ["", " ", "user", "user unknown", " no  such user ", "e mail", "a b c", "l adresse"] {
            assert_eq!(plain(piece), words::plain(piece), "{piece:?}");
        }
    }

    #[test]
    fn stars_lift_word_ends_and_classes_stand_for_words() {
        let found = |text| phrase(text).map(|elements| format!("{elements:?}")).unwrap_or_default();
        let text = |bytes: &[u8], closes| StepTarget::Literal(Literal { text: bytes.to_vec(), closes });
        let literal = |bytes: &[u8], gap| Element { what: text(bytes, false), gap };
        let class = |name: &str, gap| Element { what: StepTarget::Class(name.to_owned()), gap };
        assert_eq!(phrase("User unknown"), Some(vec![literal(b" user unknown ", Gap::None)]));
        assert_eq!(phrase("blacklist*"), Some(vec![literal(b" blacklist", Gap::None)]));
        assert_eq!(phrase("*spam*"), Some(vec![literal(b"spam", Gap::None)]));
        assert_eq!(phrase("unbekannt*$"), Some(vec![Element { what: text(b" unbekannt", true), gap: Gap::None }]));
        assert_eq!(phrase("<who>$"), None);
        assert_eq!(
            phrase("user * unknown"),
            Some(vec![literal(b" user ", Gap::None), literal(b" unknown ", Gap::Any)])
        );
        assert_eq!(phrase("mailbox*full"), Some(vec![literal(b" mailbox", Gap::None), literal(b"full ", Gap::Any)]));
        assert_eq!(phrase("{addr} not found"), Some(vec![literal(b" \x01 not found ", Gap::None)]));
        assert_eq!(phrase("{host}rbl*"), Some(vec![literal(b"\x04rbl", Gap::None)]));
        assert_eq!(phrase("no such user {us}"), Some(vec![literal(b" no such user \x02 ", Gap::None)]));
        assert_eq!(phrase("{link}"), Some(vec![literal(b" \x05 ", Gap::None)]));
        assert_eq!(phrase("no such <who>"), Some(vec![literal(b" no such ", Gap::None), class("who", Gap::None)]));
        assert_eq!(phrase("<who> * <gone>"), Some(vec![class("who", Gap::None), class("gone", Gap::Any)]));
        assert_eq!(phrase("<who> ~ <gone>"), Some(vec![class("who", Gap::None), class("gone", Gap::Clear)]));
        assert_eq!(phrase("<who>&<gone>"), Some(vec![class("who", Gap::None), class("gone", Gap::Within)]));
        for nothing in ["", "*", " ", "...", "* *"] {
            assert_eq!(found(nothing), "", "{nothing:?}");
        }
    }
}
