//! Internationalized labels: UTS 46 mapping, then IDNA 2008 (RFC 5890 to 5893).
//!
//! UTS 46 (non-transitional) is how people's spellings become names: case folding, full-width forms, NFC. It also lets
//! through symbols and emoji, which IDNA 2008 forbids, but which some registries sell. So every label is checked against
//! RFC 5892 as well ([`super::idna2008`]), and both directions must agree. A label that fails is still a name of the DNS,
//! which decides whether it exists; such names serve look-alikes, and are shown in A-labels only.
//!
//! Each label is mapped for itself, so that an error can name the label; the rule about writing directions (RFC 5893)
//! concerns the whole name and comes last.

use std::borrow::Cow;

use idna::punycode;
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::{MAX_LABEL_BYTES, check_ldh, has_a_label_prefix, idna2008, is_ldh, labels, place};
use super::{unexpected, unsafe_character};
use crate::address::{AddressError, AddressReason};

/// The characters that UTS 46 §4.5 takes as label separators.
const DOTS: &[char] = &['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];

/// The zero-width joiners: format characters with a meaning in some scripts.
const JOINERS: &[char] = &['\u{200c}', '\u{200d}'];

/// Reads a domain with at least one label that is not plain ASCII: its A-label form, and its U-label form if different.
pub(super) fn read(text: &str) -> Result<(String, Option<String>), AddressError> {
    let mut ascii = String::with_capacity(text.len() + 16);
    let (mut internationalized, mut foreign) = (false, false);
    for (at, label) in labels(text, DOTS) {
        if at > 0 {
            ascii.push('.');
        }
        if at + label.len() == text.len() {
            check_top_level(label).map_err(|error| error.shifted(at))?;
        }
        let (label, is_known) = a_label(label).map_err(|error| place(text, at, error))?;
        internationalized |= has_a_label_prefix(&label);
        foreign |= !is_known;
        ascii.push_str(&label);
    }
    // No top-level domain ends with a joiner, and where a name is copied, one at its end is lost unseen.
    if text.ends_with(JOINERS) {
        return Err(AddressReason::FormatCharacter.at(text.len() - JOINERS[0].len_utf8()));
    }
    if !internationalized || foreign {
        return Ok((ascii, None));
    }
    let (unicode, outcome) = Uts46::new().to_unicode(ascii.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast);
    // Every label is valid for itself, so what is left is the rule on names that hold a right-to-left label.
    if outcome.is_err() {
        return Err(AddressReason::Bidi.at(0));
    }
    let unicode = unicode.into_owned();
    Ok((ascii, Some(unicode)))
}

/// One label in lower case as the DNS holds it, and whether IDNA 2008 knows it.
fn a_label(typed: &str) -> Result<(Cow<'_, str>, bool), AddressError> {
    if typed.is_ascii() {
        check_ldh(typed)?;
        let known = if has_a_label_prefix(typed) { encoded(typed) } else { None };
        let is_known = known.is_some() || !has_a_label_prefix(typed);
        return Ok((known.unwrap_or_else(|| Cow::Owned(typed.to_ascii_lowercase())), is_known));
    }
    check_typed(typed)?;
    let known = encoded(typed).map(|label| (label, true));
    let label = known.or_else(|| mapped(typed).or_else(|| joined(typed)).map(|label| (label, false)));
    let label = label.ok_or(AddressReason::IdnaDisallowed.at(0))?;
    if label.0.len() > MAX_LABEL_BYTES {
        return Err(AddressReason::LabelTooLong.at(0));
    }
    Ok(label)
}

/// No top-level domain has symbols or punctuation, in whatever way they are mapped: those at the end of an address are not its own.
fn check_top_level(label: &str) -> Result<(), AddressError> {
    let is_mark = |c: char| !c.is_ascii() && !JOINERS.contains(&c) && !idna2008::is_letter_or_digit(c);
    match label.char_indices().find(|(_, c)| is_mark(*c) && unsafe_character(*c).is_none()) {
        Some((at, _)) => Err(AddressReason::IdnaDisallowed.at(at)),
        None => Ok(()),
    }
}

/// Names what cannot stand in any label before the mapping can drop or change it.
fn check_typed(label: &str) -> Result<(), AddressError> {
    for (at, character) in label.char_indices() {
        if let Ok(byte) = u8::try_from(character)
            && byte.is_ascii()
        {
            if !is_ldh(byte) {
                return Err(unexpected(byte).at(at));
            }
            continue;
        }
        // RFC 5892 says where a joiner may stand.
        if JOINERS.contains(&character) {
            continue;
        }
        if let Some(reason) = unsafe_character(character) {
            return Err(reason.at(at));
        }
    }
    Ok(())
}

/// The label mapped, judged and encoded; none where IDNA 2008 knows no such label.
fn encoded(typed: &str) -> Option<Cow<'_, str>> {
    let mapped = mapped(typed)?;
    if has_a_label_prefix(&mapped) {
        let (unicode, outcome) = Uts46::new().to_unicode(mapped.as_bytes(), AsciiDenyList::STD3, Hyphens::Check);
        outcome.ok()?;
        // RFC 5891 §5.4: an A-label must be the encoding of its U-label.
        if !idna2008::allows(&unicode) || to_ascii(&unicode)? != mapped {
            return None;
        }
    }
    Some(mapped)
}

/// The label as UTS 46 maps and encodes it. The mapping of one label must be one label.
fn mapped(typed: &str) -> Option<Cow<'_, str>> {
    to_ascii(typed).filter(|label| !label.is_empty() && !label.contains('.'))
}

/// The label with an emoji that zero-width joiners make of several: UTS 46 refuses joiners outside of scripts that need them, but the
/// DNS holds such names.
fn joined(typed: &str) -> Option<Cow<'_, str>> {
    let pieces: Vec<&str> = typed.split('\u{200d}').collect();
    let is_symbol = |c: Option<char>| {
        let category = c.map(UnicodeGeneralCategory::general_category);
        matches!(category, Some(GeneralCategory::OtherSymbol | GeneralCategory::ModifierSymbol))
    };
    let end = |piece: &str| piece.trim_end_matches('\u{fe0f}').chars().next_back();
    let is_emoji = pieces.windows(2).all(|pair| is_symbol(end(pair[0])) && is_symbol(pair[1].chars().next()));
    if pieces.len() < 2 || !is_emoji {
        return None;
    }
    let decoded = |piece: &&str| {
        let label = mapped(piece)?.into_owned();
        label.strip_prefix("xn--").map_or(Some(label.clone()), punycode::decode_to_string)
    };
    let joined = pieces.iter().map(decoded).collect::<Option<Vec<_>>>()?.join("\u{200d}");
    Some(format!("xn--{}", punycode::encode_str(&joined)?).into())
}

/// The `ToASCII` of UTS 46 for one label; hyphens at its ends and in the third and fourth place are refused (RFC 5891 §4.2.3.1).
fn to_ascii(label: &str) -> Option<Cow<'_, str>> {
    Uts46::new().to_ascii(label.as_bytes(), AsciiDenyList::STD3, Hyphens::Check, DnsLength::Ignore).ok()
}
