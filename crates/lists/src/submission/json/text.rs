//! Kept texts: their end, and their content (RFC 8259 §7).

use memchr::memchr2;

/// Maximum bytes of an escaped byte (`\u0041`).
const ESCAPED_BYTES_MAX: usize = 6;

/// Reason why a text is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFault {
    TooLong,
    NotUtf8,
    Control,
    Escape,
    Surrogate,
}

impl TextFault {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::TooLong => "is too long",
            Self::NotUtf8 => "must be UTF-8",
            Self::Control => "has a control character that is not escaped",
            Self::Escape => "has an escape that is not valid in JSON",
            Self::Surrogate => "has half of a surrogate pair",
        }
    }
}

/// Finds the quote that closes a text. If the bytes end before it: whether the next byte is escaped.
pub(super) fn closing_quote(bytes: &[u8], escaped: bool) -> Result<usize, bool> {
    let mut at = usize::from(escaped);
    loop {
        let Some(rest) = bytes.get(at..) else { return Err(true) };
        match memchr2(b'"', b'\\', rest) {
            None => return Err(false),
            Some(found) if rest[found] == b'"' => return Ok(at + found),
            Some(found) => at += found + 2,
        }
    }
}

/// Buffers for one text: as received in earlier pieces, and unescaped.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    raw: Vec<u8>,
    plain: Vec<u8>,
}

impl Scratch {
    /// Keeps a part of an unfinished text. Rejects it at once if it is too long even when fully escaped.
    pub(super) fn add(&mut self, part: &[u8], max: usize) -> Result<(), TextFault> {
        if self.raw.len() + part.len() > max * ESCAPED_BYTES_MAX {
            return Err(TextFault::TooLong);
        }
        self.raw.extend_from_slice(part);
        Ok(())
    }

    /// Content of the text with its last part; at most `max` bytes.
    pub(super) fn whole<'a>(&'a mut self, last: &'a [u8], max: usize) -> Result<&'a [u8], TextFault> {
        let raw = if self.raw.is_empty() {
            last
        } else {
            self.add(last, max)?;
            &self.raw
        };
        if raw.len() > max * ESCAPED_BYTES_MAX {
            return Err(TextFault::TooLong);
        }
        let text = match Looks::of(raw) {
            Looks { control: true, .. } => return Err(TextFault::Control),
            Looks { beyond_ascii: true, .. } if str::from_utf8(raw).is_err() => return Err(TextFault::NotUtf8),
            Looks { escapes: true, .. } => {
                self.plain.clear();
                unescape(raw, &mut self.plain)?;
                &self.plain
            }
            _ => raw,
        };
        if text.len() > max { Err(TextFault::TooLong) } else { Ok(text) }
    }

    pub(super) fn clear(&mut self) {
        self.raw.clear();
    }

    /// Bytes of the body in memory.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.raw.len() + self.plain.len()
    }
}

/// Properties of a text, found in one pass without a branch.
#[derive(Clone, Copy, Default)]
struct Looks {
    control: bool,
    beyond_ascii: bool,
    escapes: bool,
}

impl Looks {
    fn of(raw: &[u8]) -> Self {
        let mut seen = Self::default();
        for &byte in raw {
            seen.control |= byte < 0x20;
            seen.beyond_ascii |= byte >= 0x80;
            seen.escapes |= byte == b'\\';
        }
        seen
    }
}

fn unescape(raw: &[u8], plain: &mut Vec<u8>) -> Result<(), TextFault> {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        plain.extend_from_slice(&rest[..at]);
        let (&letter, after) = rest[at + 1..].split_first().ok_or(TextFault::Escape)?;
        rest = after;
        plain.push(match letter {
            b'"' | b'\\' | b'/' => letter,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (character, after) = character(rest)?;
                rest = after;
                plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return Err(TextFault::Escape),
        });
    }
    plain.extend_from_slice(rest);
    Ok(())
}

/// Character of one `\u` escape, or of two if it is beyond the first plane.
fn character(digits: &[u8]) -> Result<(char, &[u8]), TextFault> {
    let (first, rest) = unit(digits)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, rest));
    }
    let digits = rest.strip_prefix(b"\\u").ok_or(TextFault::Surrogate)?;
    let (second, rest) = unit(digits)?;
    match (first, second) {
        (0xd800..=0xdbff, 0xdc00..=0xdfff) => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            Ok((char::from_u32(code).ok_or(TextFault::Surrogate)?, rest))
        }
        _ => Err(TextFault::Surrogate),
    }
}

/// Reads four hexadecimal digits.
fn unit(digits: &[u8]) -> Result<(u32, &[u8]), TextFault> {
    let (four, rest) = digits.split_first_chunk::<4>().ok_or(TextFault::Escape)?;
    let value = four.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?));
    Ok((value.ok_or(TextFault::Escape)?, rest))
}
