//! The local part: read from its two spellings (dot-string and quoted string), written back in the shorter one.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::{AddressError, AddressReason, MAX_LOCAL_BYTES};
use crate::domain::unsafe_character;

/// A local part that has been read.
pub(super) struct Local<'a> {
    /// Without quotes and backslashes.
    pub(super) decoded: Cow<'a, str>,
    /// The position of the `@` that ends it.
    pub(super) end: usize,
}

/// Reads the local part at the beginning of `text`.
pub(super) fn read(text: &str) -> Result<Local<'_>, AddressError> {
    let (decoded, end) = if text.starts_with('"') {
        let (decoded, end) = quoted_string(text)?;
        (Cow::Owned(decoded), end)
    } else {
        let end = dot_string(text)?;
        (Cow::Borrowed(&text[..end]), end)
    };
    if end > MAX_LOCAL_BYTES {
        return Err(AddressReason::LocalTooLong.at(0));
    }
    Ok(Local { decoded, end })
}

/// Domains of Japanese carriers, and all below them, that gave away local parts with doubled and final dots until 2009.
const DOTTED: [&str; 5] = ["au.com", "docomo.ne.jp", "ezweb.ne.jp", "softbank.ne.jp", "vodafone.ne.jp"];

/// Reads a local part with doubled or final dots at a carrier that has such mailboxes. They are asked in quotes, in which any
/// local part can be written (RFC 5321 §4.1.2).
pub(super) fn read_dotted(text: &str) -> Option<Local<'_>> {
    let (local, domain) = text.rsplit_once('@')?;
    let domain = domain.to_ascii_lowercase();
    let is_below =
        |carrier: &str| domain.strip_suffix(carrier).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_dotted =
        !local.is_empty() && !local.starts_with('.') && local.bytes().all(|byte| is_atext(byte) || byte == b'.');
    (is_dotted && wire_bytes(local) <= MAX_LOCAL_BYTES && DOTTED.iter().any(|carrier| is_below(carrier)))
        .then_some(Local { decoded: Cow::Borrowed(local), end: local.len() })
}

/// Judges a local part that is decoded already, as [`read`] would have judged its quoted spelling.
pub(super) fn check_decoded(local: &str) -> Result<(), AddressError> {
    for (at, character) in local.char_indices() {
        if character.is_ascii_control() {
            return Err(AddressReason::ControlCharacter.at(at));
        }
        check_character(character, at == 0).map_err(|reason| reason.at(at))?;
    }
    if wire_bytes(local) > MAX_LOCAL_BYTES {
        return Err(AddressReason::LocalTooLong.at(0));
    }
    Ok(())
}

/// The local part in NFC (RFC 6532 §3.1), unless its wire form is then longer than `room` octets: a few characters grow
/// in NFC, and an address that is within the limits as it was typed stays within them.
pub(super) fn normalized(local: Cow<'_, str>, room: usize) -> Box<str> {
    if local.is_ascii() || is_nfc_quick(local.chars()) == IsNormalized::Yes {
        return local.into();
    }
    // Some characters become ASCII in NFC, U+037E the semicolon for one; the wire form then quotes them.
    let normal = nfc(&local);
    if wire_bytes(&normal) > room { local.into() } else { normal.into() }
}

/// The text in NFC .
pub(super) fn nfc(text: &str) -> String {
    text.nfc().collect()
}

/// How many octets [`write()`] appends.
pub(super) fn wire_bytes(local: &str) -> usize {
    if is_dot_string(local) {
        return local.len();
    }
    let escapes = local.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    local.len() + escapes + 2
}

/// Appends the wire form: a dot-string where that is possible, else a quoted string in which only what must be is
/// quoted by a backslash (RFC 5321 §4.1.2 asks senders for the form that is quoted least).
pub(super) fn write(local: &str, out: &mut Vec<u8>) {
    if is_dot_string(local) {
        out.extend_from_slice(local.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in local.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// RFC 5321 §4.1.2: `Dot-string = Atom *("." Atom)`. Returns the position of the `@` behind it.
fn dot_string(text: &str) -> Result<usize, AddressError> {
    let bytes = text.as_bytes();
    let (mut at, mut atom) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'@' if at == 0 => return Err(AddressReason::EmptyLocal.at(0)),
            b'@' if at == atom => return Err(AddressReason::DotMisplaced.at(at - 1)),
            b'@' => return Ok(at),
            b'.' if at == atom => return Err(AddressReason::DotMisplaced.at(at)),
            b'.' => {
                at += 1;
                atom = at;
            }
            _ if is_atext(byte) => at += 1,
            0x80.. => at += character(text, at, at == 0)?.len_utf8(),
            _ => return Err(unexpected(text, at, byte)),
        }
    }
    Err(AddressReason::NoAt.at(text.len()))
}

/// RFC 5321 §4.1.2: `Quoted-string = DQUOTE *QcontentSMTP DQUOTE`; RFC 6531 §3.3 adds every non-ASCII character to what
/// may stand bare, but not behind a backslash. An empty one is allowed. Returns the content, and the position of the
/// `@` behind it.
fn quoted_string(text: &str) -> Result<(String, usize), AddressError> {
    let bytes = text.as_bytes();
    let mut content = String::new();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return after_quote(text, at + 1).map(|end| (content, end)),
            b'\\' => {
                at += 1;
                content.push(escaped(bytes, at)?);
                at += 1;
            }
            b' '..=b'~' => {
                content.push(char::from(byte));
                at += 1;
            }
            0x80.. => {
                let character = character(text, at, content.is_empty())?;
                content.push(character);
                at += character.len_utf8();
            }
            _ => return Err(AddressReason::ControlCharacter.at(at)),
        }
    }
    Err(AddressReason::UnterminatedQuote.at(text.len()))
}

/// RFC 5321 §4.1.2: `quoted-pairSMTP = %d92 %d32-126`, seen from behind the backslash.
fn escaped(bytes: &[u8], at: usize) -> Result<char, AddressError> {
    match bytes.get(at) {
        Some(&byte @ b' '..=b'~') => Ok(char::from(byte)),
        Some(0x80..) => Err(AddressReason::BadQuotedPair.at(at)),
        Some(_) => Err(AddressReason::ControlCharacter.at(at)),
        None => Err(AddressReason::UnterminatedQuote.at(at)),
    }
}

fn after_quote(text: &str, at: usize) -> Result<usize, AddressError> {
    match text.as_bytes().get(at) {
        Some(b'@') => Ok(at),
        None => Err(AddressReason::NoAt.at(at)),
        Some(_) => Err(angle_brackets(text).unwrap_or(AddressReason::JunkAfterQuote.at(at))),
    }
}

/// The non-ASCII character at a boundary, if it is safe.
fn character(text: &str, at: usize, first: bool) -> Result<char, AddressError> {
    let character = text[at..].chars().next().expect("only whole characters have been passed");
    check_character(character, first).map_err(|reason| reason.at(at))?;
    Ok(character)
}

/// RFC 6531 allows every non-ASCII character. What cannot be seen, has no meaning or changes the text around it is
/// refused all the same: such addresses come from broken conversions and from people who want to deceive.
fn check_character(character: char, first: bool) -> Result<(), AddressReason> {
    if character.is_ascii() {
        return Ok(());
    }
    match unsafe_character(character) {
        Some(reason) => Err(reason),
        None if first && is_leading_punctuation(character) => Err(AddressReason::BadLocalCharacter),
        None if first && unicode_normalization::char::is_combining_mark(character) => {
            Err(AddressReason::LeadingCombiningMark)
        }
        None => Ok(()),
    }
}

/// Typographic quotes, brackets, dashes and bullets: what documents have before an address, and no mailbox begins with.
pub(super) fn is_leading_punctuation(character: char) -> bool {
    !character.is_ascii()
        && matches!(
            character.general_category(),
            GeneralCategory::InitialPunctuation
                | GeneralCategory::FinalPunctuation
                | GeneralCategory::OpenPunctuation
                | GeneralCategory::ClosePunctuation
                | GeneralCategory::DashPunctuation
                | GeneralCategory::OtherPunctuation
        )
}

/// Names what stands where an unquoted local part cannot go on.
fn unexpected(text: &str, at: usize, byte: u8) -> AddressError {
    match byte {
        byte if byte.is_ascii_control() => AddressReason::ControlCharacter.at(at),
        b'(' | b')' => AddressReason::Comment.at(at),
        _ => angle_brackets(text).unwrap_or_else(|| match byte {
            b' ' => AddressReason::Whitespace.at(at),
            b'"' => AddressReason::QuoteInside.at(at),
            _ => AddressReason::BadLocalCharacter.at(at),
        }),
    }
}

/// `Name <user@host>`, `<user@host>` and `<@relay:user@host>` are paths or header fields, not mailboxes.
fn angle_brackets(text: &str) -> Option<AddressError> {
    let open = text.find('<').filter(|_| text.ends_with('>'))?;
    let reason =
        if text[open + 1..].starts_with('@') { AddressReason::SourceRoute } else { AddressReason::DisplayName };
    Some(reason.at(open))
}

fn is_dot_string(local: &str) -> bool {
    let mut after_dot = true;
    for byte in local.bytes() {
        match byte {
            b'.' if after_dot => return false,
            b'.' => after_dot = true,
            _ if byte >= 0x80 || is_atext(byte) => after_dot = false,
            _ => return false,
        }
    }
    !after_dot
}

/// RFC 5322 §3.2.3, which RFC 5321 §4.1.2 refers to.
const fn is_atext(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9'
        | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'/' | b'=' | b'?' | b'^' | b'_' | b'`'
        | b'{' | b'|' | b'}' | b'~')
}
