//! Decodes any common encoding to ASCII-compatible bytes, in constant memory.
//!
//! A byte order mark decides if present; without one, NULs at every other position of the beginning reveal UTF-16. All other input
//! passes unchanged, because separators and line ends are the same bytes in UTF-8 and in the Windows code pages. Each record is
//! read as UTF-8 or, if invalid, as Windows-1252 ([`text`]). So a file of mixed origin loses nothing, and one stray byte in a
//! million rows does not affect the others.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use encoding_rs::{CoderResult, Decoder, UTF_16BE, UTF_16LE, WINDOWS_1252};
use serde::{Deserialize, Serialize};

use crate::split::RECORD_MAX;

/// Bytes of the beginning that are examined.
pub const SAMPLE_BYTES: usize = 64 * 1024;
/// Bytes decoded at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Encoding of a whole input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8, with or without stray records of Windows-1252.
    Utf8,
    /// UTF-8 after a byte order mark, otherwise the same.
    Utf8Bom,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with a byte order mark",
            Self::Utf16Le => "UTF-16 (little-endian)",
            Self::Utf16Be => "UTF-16 (big-endian)",
        }
    }

    /// Name in the API and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }

    /// Whether each character takes two bytes or four.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Utf16Le | Self::Utf16Be)
    }

    /// Whether a program that needs a byte order mark wrote the input, so that the output should have one as well.
    pub fn wants_bom(self) -> bool {
        self != Self::Utf8
    }
}

/// Detects the encoding from the beginning of an input; returns it with the length of its mark.
pub fn sniff(head: &[u8]) -> (Encoding, usize) {
    match head {
        [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8Bom, 3),
        [0xff, 0xfe, ..] => (Encoding::Utf16Le, 2),
        [0xfe, 0xff, ..] => (Encoding::Utf16Be, 2),
        _ => (unmarked(head), 0),
    }
}

/// Whether text is UTF-16, which would pass for UTF-8 with a NUL in each character.
pub fn is_wide(text: &[u8]) -> bool {
    sniff(text).0.is_wide()
}

/// Unmarked UTF-16 has NULs mostly at even or mostly at odd positions, because address lists are mostly ASCII.
fn unmarked(head: &[u8]) -> Encoding {
    let head = &head[..head.len().min(4096)];
    let nuls = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (nuls(0), nuls(1), head.len() / 2);
    if half >= 2 && odd * 10 >= half * 7 && even * 10 < half {
        Encoding::Utf16Le
    } else if half >= 2 && even * 10 >= half * 7 && odd * 10 < half {
        Encoding::Utf16Be
    } else {
        Encoding::Utf8
    }
}

/// Decodes an input to ASCII-compatible bytes without its byte order mark.
pub struct Decoded<R> {
    /// Detected encoding.
    pub encoding: Encoding,
    inner: io::Chain<io::Cursor<Vec<u8>>, R>,
    decoder: Option<Decoder>,
    raw: Vec<u8>,
    ready: Vec<u8>,
    at: usize,
    finished: bool,
}

impl<R: Read> Decoded<R> {
    /// Reads the beginning and detects the encoding.
    pub fn open(mut inner: R) -> io::Result<Self> {
        let mut head = Vec::with_capacity(SAMPLE_BYTES);
        inner.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut head)?;
        let (encoding, mark) = sniff(&head);
        head.drain(..mark);
        let decoder = match encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => None,
            Encoding::Utf16Le => Some(UTF_16LE.new_decoder_without_bom_handling()),
            Encoding::Utf16Be => Some(UTF_16BE.new_decoder_without_bom_handling()),
        };
        let inner = io::Cursor::new(head).chain(inner);
        Ok(Self { encoding, inner, decoder, raw: Vec::new(), ready: Vec::new(), at: 0, finished: false })
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(decoder) = &mut self.decoder else { return self.inner.read(out) };
        while self.at == self.ready.len() && !self.finished {
            self.raw.resize(CHUNK_BYTES, 0);
            let read = self.inner.read(&mut self.raw)?;
            self.finished = read == 0;
            self.ready.resize(CHUNK_BYTES * 2, 0);
            let (result, _, written, _) = decoder.decode_to_utf8(&self.raw[..read], &mut self.ready, self.finished);
            // Two bytes of UTF-16 become at most three of UTF-8, so one chunk always fits into two.
            debug_assert_eq!(result, CoderResult::InputEmpty);
            self.ready.truncate(written);
            self.at = 0;
        }
        let length = out.len().min(self.ready.len() - self.at);
        out[..length].copy_from_slice(&self.ready[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// The beginning of a decoded input: enough to examine its first records, whatever their length.
///
/// # Errors
/// Those of the input.
pub fn head(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    // At least the header and one row; anything longer is rejected anyway.
    let enough = |head: &[u8]| memchr::memchr2_iter(b'\n', b'\r', head).nth(3).is_some();
    while head.len() < 2 * RECORD_MAX && !(head.len() >= SAMPLE_BYTES && enough(&head)) {
        if from.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut head)? == 0 {
            break;
        }
    }
    Ok(head)
}

/// A record as text, and whether it was invalid UTF-8.
pub fn text(record: &[u8]) -> (Cow<'_, str>, bool) {
    match std::str::from_utf8(record) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (WINDOWS_1252.decode_without_bom_handling(record).0, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, big: bool, mark: bool) -> Vec<u8> {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    #[test]
    fn every_customary_encoding_is_read() {
        let text = "email,name\njörg@example.com,Jörg \u{1f600}\n";
        let table = [
            (text.as_bytes().to_vec(), Encoding::Utf8),
            ([&[0xef, 0xbb, 0xbf], text.as_bytes()].concat(), Encoding::Utf8Bom),
            (utf16(text, false, true), Encoding::Utf16Le),
            (utf16(text, true, true), Encoding::Utf16Be),
            (utf16(text, false, false), Encoding::Utf16Le),
            (utf16(text, true, false), Encoding::Utf16Be),
        ];
        for (bytes, encoding) in table {
            let mut decoded = Decoded::open(&bytes[..]).unwrap();
            assert_eq!(decoded.encoding, encoding);
            let mut out = String::new();
            decoded.read_to_string(&mut out).unwrap();
            assert_eq!(out, text, "{encoding:?}");
        }
    }

    #[test]
    fn long_utf16_is_decoded_in_pieces() {
        let text = "ü@example.com\n".repeat(20_000);
        let mut out = String::new();
        Decoded::open(&utf16(&text, false, true)[..]).unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, text);
    }

    #[test]
    fn a_record_that_is_no_utf8_is_windows_1252() {
        assert_eq!(text(b"J\xf6rg"), ("Jörg".into(), true));
        assert_eq!(text("Jörg".as_bytes()), ("Jörg".into(), false));
        assert_eq!(text(b"\x80\x81"), ("\u{20ac}\u{81}".into(), true));
    }
}
