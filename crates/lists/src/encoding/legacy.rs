//! Lines of UTF-8 or of an older encoding, which is detected from the text.
//!
//! The first line with other bytes than ASCII begins a sample of 64 KiB. If all of it is UTF-8, so is the file, and only lines that
//! are not get the encoding that their own sample tells. If more lines are not UTF-8 than are, the file is in an older encoding.

use std::collections::VecDeque;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{BIG5, EUC_JP, EUC_KR, GB18030, GBK, ISO_2022_JP, SHIFT_JIS, WINDOWS_1252};

use super::{Encoding, SAMPLE_BYTES};
use crate::remarks::{LineCount, Oddity};
use crate::split::RECORD_MAX;

/// Begins a change of characters in ISO-2022-JP, whose bytes are ASCII otherwise.
const ESCAPE: u8 = 0x1b;
/// Encodings of which two bytes may pass for a character in UTF-8.
const EAST_ASIAN: [&encoding_rs::Encoding; 6] = [SHIFT_JIS, BIG5, GBK, GB18030, EUC_JP, EUC_KR];
/// Countries whose customary encodings are tried: where all of them give the same result, the text itself decides.
const COUNTRIES: [&[u8]; 9] = [b"de", b"pl", b"ru", b"gr", b"tr", b"jp", b"cn", b"tw", b"kr"];

#[expect(clippy::struct_excessive_bools, reason = "each is a finding about the text")]
pub(super) struct LineDecoder {
    /// UTF-8 with or without a mark.
    base: Encoding,
    state: LegacyState,
    /// Text without a complete line, or a sample without its end.
    pending: Vec<u8>,
    lines: LineCount,
    /// Whether there was a sample.
    is_sampled: bool,
    /// Encoding of lines that are not UTF-8.
    pub(super) other: Option<&'static encoding_rs::Encoding>,
    /// Whether lines that could be UTF-8 are.
    keeps_utf8: bool,
    /// Whether the file as a whole is UTF-8.
    is_utf8: bool,
    pub(super) guessed: bool,
    pub(super) foreign: Oddity,
    /// Numbers of foreign lines that no record has used yet.
    ahead: VecDeque<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LegacyState {
    /// Only ASCII so far.
    Plain,
    /// A sample is being collected.
    Sampling,
    Known,
}

impl LineDecoder {
    pub(super) fn new(base: Encoding) -> Self {
        Self {
            base,
            // A mark says that it is UTF-8.
            state: if base == Encoding::Utf8Bom { LegacyState::Known } else { LegacyState::Plain },
            pending: Vec::new(),
            lines: LineCount::default(),
            is_sampled: false,
            other: None,
            keeps_utf8: true,
            is_utf8: true,
            guessed: false,
            foreign: Oddity::default(),
            ahead: VecDeque::new(),
        }
    }

    /// The same, told the encoding of the lines that are not UTF-8.
    pub(super) fn chosen(base: Encoding, other: &'static encoding_rs::Encoding) -> Self {
        let is_utf8 = base == Encoding::Utf8Bom;
        let keeps_utf8 = is_utf8 || !EAST_ASIAN.contains(&other);
        Self { state: LegacyState::Known, other: Some(other), is_utf8, keeps_utf8, ..Self::new(base) }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.other.filter(|_| !self.is_utf8).map_or(self.base, Encoding::Legacy)
    }

    pub(super) fn pass(&mut self, line: u64) -> bool {
        let passed = self.ahead.iter().take_while(|foreign| **foreign <= line).count();
        self.ahead.drain(..passed);
        passed > 0
    }

    pub(super) fn push(&mut self, piece: &[u8], last: bool, out: &mut Vec<u8>) {
        self.pending.extend_from_slice(piece);
        // A line that comes in many small pieces is not searched again with each.
        let waits = match self.state {
            LegacyState::Sampling => self.pending.len() < SAMPLE_BYTES,
            LegacyState::Plain | LegacyState::Known => {
                self.pending.len() <= RECORD_MAX && whole_lines(piece, false) == 0
            }
        };
        if waits && !last {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        let mut used = 0;
        loop {
            let rest = &pending[used..];
            let until = whole_lines(rest, last);
            let taken = match self.state {
                LegacyState::Plain => self.plain(&rest[..until], out),
                LegacyState::Sampling if rest.len() < SAMPLE_BYTES && !last => break,
                LegacyState::Sampling => {
                    self.detect(&rest[..rest.len().min(SAMPLE_BYTES)]);
                    0
                }
                LegacyState::Known => self.known(&rest[..until], out),
            };
            used += taken;
            if self.state != LegacyState::Sampling && taken == until {
                break;
            }
        }
        pending.drain(..used);
        self.pending = pending;
    }

    /// Passes ASCII on, up to the first line with anything else.
    fn plain(&mut self, text: &[u8], out: &mut Vec<u8>) -> usize {
        let Some(at) = text.iter().position(|byte| !byte.is_ascii() || *byte == ESCAPE) else {
            self.keep(text, out);
            return text.len();
        };
        let line = memchr::memrchr2(b'\n', b'\r', &text[..at]).map_or(0, |end| end + 1);
        self.keep(&text[..line], out);
        self.state = LegacyState::Sampling;
        line
    }

    fn keep(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.lines.add(text);
        out.extend_from_slice(text);
    }

    /// Decides by a sample, which may end within a character.
    fn detect(&mut self, sample: &[u8]) {
        // A later sample begins with a line that is not UTF-8, however late within the line that shows.
        let (mut valid, mut foreign) = (0, 0);
        // Lines of UTF-8 would tell of another encoding than that of the others.
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        for (at, line) in lines(sample).enumerate() {
            let is_utf8 = std::str::from_utf8(line).map_or_else(|error| error.error_len().is_none(), |_| true);
            if !is_utf8 || (at == 0 && self.is_sampled) {
                foreign += 1;
                detector.feed(line, false);
            } else if !line.is_ascii() {
                valid += 1;
            } else if line.contains(&ESCAPE) {
                detector.feed(line, false);
            }
        }
        detector.feed(b"", true);
        let known_utf8 = self.base == Encoding::Utf8Bom || self.is_sampled || valid > foreign;
        (self.state, self.is_sampled) = (LegacyState::Known, true);
        if foreign == 0 && !sample.contains(&ESCAPE) {
            return;
        }
        let found = guess(&detector, None);
        if foreign == 0 && found != ISO_2022_JP {
            return;
        }
        self.is_utf8 = known_utf8 && found != ISO_2022_JP;
        // Two bytes of a character in East Asia may pass for one in UTF-8; elsewhere that is as good as excluded.
        self.keeps_utf8 = known_utf8 || !EAST_ASIAN.contains(&found);
        self.guessed |=
            found != ISO_2022_JP && COUNTRIES.iter().any(|country| guess(&detector, Some(country)) != found);
        self.other = Some(found);
    }

    /// Whether a line that could be UTF-8 has the encoding of the others all the same. In East Asia, customary letters may pass for
    /// characters of two bytes in UTF-8, but only very rare ones for characters of three: a line with such characters is UTF-8, as
    /// is one that has no meaning in the other encoding.
    fn is_in_other(&self, line: &[u8]) -> bool {
        const THREE_BYTES: u8 = 0xe0;
        line.iter().all(|byte| *byte < THREE_BYTES)
            && self.other.is_some_and(|of| of.decode_without_bom_handling_and_without_replacement(line).is_some())
    }

    /// Decodes whole lines; ends before one whose encoding is not known.
    fn known(&mut self, text: &[u8], out: &mut Vec<u8>) -> usize {
        let escapes = self.other == Some(ISO_2022_JP);
        if text.is_ascii() && !escapes || self.keeps_utf8 && !escapes && std::str::from_utf8(text).is_ok() {
            self.keep(text, out);
            return text.len();
        }
        let mut used = 0;
        for line in lines(text) {
            let is_foreign = if line.is_ascii() {
                escapes && line.contains(&ESCAPE)
            } else {
                std::str::from_utf8(line).is_err() || (!self.keeps_utf8 && self.is_in_other(line))
            };
            match self.other {
                _ if !is_foreign => out.extend_from_slice(line),
                Some(other) => {
                    let number = self.lines.number();
                    self.foreign.meet(number);
                    self.ahead.push_back(number);
                    out.extend_from_slice(other.decode_without_bom_handling(line).0.as_bytes());
                }
                None => {
                    self.state = LegacyState::Sampling;
                    return used;
                }
            }
            self.lines.add(line);
            used += line.len();
        }
        used
    }
}

/// Length of the complete lines; of all text at the end, and of a line that is too long in any case.
fn whole_lines(text: &[u8], last: bool) -> usize {
    match memchr::memrchr2(b'\n', b'\r', text) {
        _ if last => text.len(),
        Some(end) => end + 1,
        None if text.len() > RECORD_MAX => text.len(),
        None => 0,
    }
}

/// Lines with their ends; a carriage return before a line feed counts as a line of its own here.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r'))
}

fn guess(detector: &EncodingDetector, country: Option<&[u8]>) -> &'static encoding_rs::Encoding {
    let found = detector.guess(country, Utf8Detection::Deny);
    if found.is_ascii_compatible() || found == ISO_2022_JP { found } else { WINDOWS_1252 }
}
