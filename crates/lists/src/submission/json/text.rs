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
    plain: String,
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
                self.plain = unescaped(raw)?;
                self.plain.as_bytes()
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

/// The text without escapes, of bytes that have nothing else amiss.
fn unescaped(raw: &[u8]) -> Result<String, TextFault> {
    serde_json::from_slice(&[&b"\""[..], raw, b"\""].concat()).map_err(|error| {
        // serde_json says so only of surrogates.
        if error.to_string().contains("hex escape") { TextFault::Surrogate } else { TextFault::Escape }
    })
}
