//! Decodes any common encoding to UTF-8, in constant memory, before anything is split: in `Shift_JIS`, Big5 and GBK, the second
//! byte of a character may be a separator.
//!
//! A byte order mark decides if present; without one, NULs at every other position of the beginning reveal UTF-16. Otherwise text
//! is decoded line by line, as line ends are the same bytes in all other encodings ([`legacy`]): a file of mixed origin loses
//! nothing, and one stray byte in a million rows does not affect the others.

mod legacy;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Read};

use encoding_rs::{
    BIG5, CoderResult, Decoder, EUC_JP, EUC_KR, GB18030, GBK, ISO_8859_2, KOI8_R, MACINTOSH, SHIFT_JIS, UTF_16BE,
    UTF_16LE, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256,
    WINDOWS_1257,
};
use serde::{Deserialize, Serialize};

use self::legacy::LineDecoder;
use crate::remarks::Oddity;

/// Bytes that are examined at once.
pub const SAMPLE_BYTES: usize = 64 * 1024;
/// Bytes that tell UTF-16 without a mark.
const SNIFF_BYTES: usize = 4_096;
/// Bytes decoded at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// An encoding that is not UTF-8.
pub type TextEncoding = &'static encoding_rs::Encoding;

/// Encoding of a whole input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8, with or without stray lines of another encoding.
    Utf8,
    /// UTF-8 after a byte order mark, otherwise the same.
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    /// An older encoding, detected from its text.
    Legacy(TextEncoding),
}

impl Encoding {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with a byte order mark",
            Self::Utf16Le => "UTF-16 (little-endian)",
            Self::Utf16Be => "UTF-16 (big-endian)",
            Self::Legacy(encoding) => encoding.name(),
        }
    }

    /// Name in the API and in the database.
    pub fn word(self) -> Cow<'static, str> {
        match self {
            Self::Utf8 => "utf-8".into(),
            Self::Utf8Bom => "utf-8-bom".into(),
            Self::Utf16Le => "utf-16le".into(),
            Self::Utf16Be => "utf-16be".into(),
            Self::Legacy(encoding) => encoding.name().to_ascii_lowercase().into(),
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

/// Encodings that somebody can choose for a text, by the names that [`Encoding::word`] gives them: those in which programs without
/// UTF-8 write.
pub const CHOICES: [TextEncoding; 17] = [
    WINDOWS_1252,
    WINDOWS_1250,
    WINDOWS_1251,
    WINDOWS_1253,
    WINDOWS_1254,
    WINDOWS_1255,
    WINDOWS_1256,
    WINDOWS_1257,
    ISO_8859_2,
    KOI8_R,
    MACINTOSH,
    SHIFT_JIS,
    EUC_JP,
    EUC_KR,
    GBK,
    GB18030,
    BIG5,
];

/// The encoding of this name that can be chosen.
pub fn chosen(word: &str) -> Option<TextEncoding> {
    CHOICES.into_iter().find(|encoding| encoding.name().eq_ignore_ascii_case(word))
}

/// Detects the encoding from the beginning of an input; returns it with the length of its marks, of which some programs write two.
pub fn sniff(head: &[u8]) -> (Encoding, usize) {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let marks = head.chunks_exact(MARK.len()).take_while(|chunk| *chunk == MARK).count();
    match head {
        _ if marks > 0 => (Encoding::Utf8Bom, marks * MARK.len()),
        [0xff, 0xfe, ..] => (Encoding::Utf16Le, 2),
        [0xfe, 0xff, ..] => (Encoding::Utf16Be, 2),
        _ => (unmarked(head), 0),
    }
}

/// Whether text is UTF-16, which would pass for UTF-8 with a NUL in each character.
pub fn is_wide(text: &[u8]) -> bool {
    sniff(text).0.is_wide()
}

/// Unmarked UTF-16 has NULs at even or at odd positions alone, in a fifth of its characters at least: addresses are ASCII,
/// whatever the names beside them are. It has at signs, and no control characters as a binary file has.
fn unmarked(head: &[u8]) -> Encoding {
    let head = &head[..head.len().min(SNIFF_BYTES)];
    let nuls = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (nuls(0), nuls(1), head.len() / 2);
    let is_text = |unit: u16| unit > 0x1f && unit != 0x7f || matches!(unit, 0 | 0x09 | 0x0a | 0x0d | 0x1a);
    let told = |these: usize, others: usize, unit: fn([u8; 2]) -> u16| {
        let plausible = half >= 2 && these * 5 >= half && others * 20 <= these;
        let units = || head.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        plausible && units().all(is_text) && units().any(|unit| unit == u16::from(b'@'))
    };
    if told(odd, even, u16::from_le_bytes) {
        Encoding::Utf16Le
    } else if told(even, odd, u16::from_be_bytes) {
        Encoding::Utf16Be
    } else {
        Encoding::Utf8
    }
}

/// Decodes pieces of an input to UTF-8 without its byte order mark. How the input is cut into pieces never changes the outcome.
pub struct Transcoder {
    /// Encoding of what has no mark and is not UTF-8, if somebody chose it.
    chosen: Option<TextEncoding>,
    /// The beginning, until the encoding is known.
    start: Option<Vec<u8>>,
    /// UTF-16, and its decoder; `None` for encodings whose lines end with the same bytes.
    wide: Option<(Encoding, Box<Decoder>)>,
    lines: LineDecoder,
}

impl Default for Transcoder {
    fn default() -> Self {
        Self::reading(None)
    }
}

impl Transcoder {
    /// A transcoder that is told the encoding of what has no mark and is not UTF-8, or detects it.
    pub fn reading(chosen: Option<TextEncoding>) -> Self {
        Self { chosen, start: Some(Vec::new()), wide: None, lines: LineDecoder::new(Encoding::Utf8) }
    }

    /// Appends the text of a piece to `out`, with a delay. `last`: no piece follows.
    pub fn push(&mut self, piece: &[u8], last: bool, out: &mut Vec<u8>) {
        let Some(mut start) = self.start.take() else { return self.decode(piece, last, out) };
        start.extend_from_slice(piece);
        if start.len() < SNIFF_BYTES && !last {
            self.start = Some(start);
            return;
        }
        let (encoding, marks) = sniff(&start[..start.len().min(SNIFF_BYTES)]);
        let wide = |of: TextEncoding| Some((encoding, of.new_decoder_without_bom_handling().into()));
        match (encoding, self.chosen) {
            (Encoding::Utf16Le, _) => self.wide = wide(UTF_16LE),
            (Encoding::Utf16Be, _) => self.wide = wide(UTF_16BE),
            (_, Some(chosen)) => self.lines = LineDecoder::chosen(encoding, chosen),
            (_, None) => self.lines = LineDecoder::new(encoding),
        }
        self.decode(&start[marks..], last, out);
    }

    fn decode(&mut self, piece: &[u8], last: bool, out: &mut Vec<u8>) {
        match &mut self.wide {
            Some((_, decoder)) => wide(decoder, piece, last, out),
            None => self.lines.push(piece, last, out),
        }
    }

    /// Encoding, as far as the pieces so far tell.
    pub fn encoding(&self) -> Encoding {
        self.wide.as_ref().map_or_else(|| self.lines.encoding(), |(encoding, _)| *encoding)
    }

    /// Whether the encoding of some lines is a mere guess: no mark names it, and their text suits several.
    pub fn is_guessed(&self) -> bool {
        self.lines.guessed
    }

    /// Encoding of the lines that were not UTF-8.
    pub fn other(&self) -> Option<TextEncoding> {
        self.lines.other
    }

    /// Lines that were not UTF-8.
    pub fn foreign(&self) -> Oddity {
        self.lines.foreign
    }

    /// Forgets the lines up to this one; returns whether one of them was not UTF-8.
    pub(crate) fn pass(&mut self, line: u64) -> bool {
        self.lines.pass(line)
    }
}

fn wide(decoder: &mut Decoder, piece: &[u8], last: bool, out: &mut Vec<u8>) {
    // Two bytes of UTF-16 become at most three of UTF-8; halves of characters come from the piece before.
    let room = decoder.max_utf8_buffer_length(piece.len()).unwrap_or(usize::MAX);
    let from = out.len();
    out.resize(from + room, 0);
    let (result, _, written, _) = decoder.decode_to_utf8(piece, &mut out[from..], last);
    debug_assert_eq!(result, CoderResult::InputEmpty);
    out.truncate(from + written);
}

/// Decodes an input to UTF-8 without its byte order mark.
pub struct Decoded<R> {
    inner: R,
    transcoder: Transcoder,
    raw: Vec<u8>,
    ready: Vec<u8>,
    at: usize,
    finished: bool,
}

impl<R: Read> Decoded<R> {
    pub fn open(inner: R) -> Self {
        let transcoder = Transcoder::default();
        Self { inner, transcoder, raw: vec![0; CHUNK_BYTES], ready: Vec::new(), at: 0, finished: false }
    }

    /// Whether the encoding of some lines so far is a mere guess ([`Transcoder::is_guessed`]).
    pub fn is_guessed(&self) -> bool {
        self.transcoder.is_guessed()
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() && !self.finished {
            let read = self.inner.read(&mut self.raw)?;
            self.finished = read == 0;
            self.ready.clear();
            self.at = 0;
            self.transcoder.push(&self.raw[..read], self.finished, &mut self.ready);
            self.transcoder.pass(u64::MAX);
        }
        let length = out.len().min(self.ready.len() - self.at);
        out[..length].copy_from_slice(&self.ready[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
