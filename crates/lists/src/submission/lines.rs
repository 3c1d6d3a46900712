//! `application/x-ndjson`: each line is a JSON string, or an object with the string `email`.
//!
//! A line is read once it is complete, so a cut within one changes nothing. Blank lines are skipped. Members other than `email` are
//! ignored, and a repeated `email` is rejected, as in JSON bodies.

use std::borrow::Cow;

use memchr::memchr;
use serde::Deserialize;

use super::{Blocks, LINE_MAX_BYTES, SubmissionFault};
use crate::encoding::is_wide;

const LINE_TOO_LONG: &str = "may have at most 65536 bytes";
const NOT_UTF8: &str = "must be UTF-8";
const NOT_AN_ADDRESS: &str = "must be a JSON string or an object with the string `email`";

/// A line that is an object.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    email: Cow<'a, str>,
}

/// A line that is a string.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Debug, Default)]
pub(super) struct LineReader {
    /// Part of a line from earlier pieces.
    line: Vec<u8>,
    /// Number of lines that ended.
    ended: u64,
}

impl LineReader {
    /// Reads a piece; `blocks` receives each address, unescaped.
    pub(super) fn push(&mut self, piece: &[u8], blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        let mut rest = piece;
        while let Some(end) = memchr(b'\n', rest) {
            self.add(&rest[..end])?;
            self.finish(blocks)?;
            rest = &rest[end + 1..];
        }
        self.add(rest)
    }

    fn add(&mut self, part: &[u8]) -> Result<(), SubmissionFault> {
        if self.line.len() + part.len() > LINE_MAX_BYTES {
            return Err(SubmissionFault::Line(self.ended + 1, LINE_TOO_LONG));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// Ends a line. The last one of a body needs no line end.
    pub(super) fn finish(&mut self, blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        self.ended += 1;
        let line = self.line.trim_ascii();
        if !line.is_empty() {
            blocks.room()?;
            let address = address(line).map_err(|what| match what {
                _ if is_wide(line) => SubmissionFault::Utf16,
                what => SubmissionFault::Line(self.ended, what),
            })?;
            blocks.keep_of_line(self.ended, &address)?;
        }
        self.line.clear();
        Ok(())
    }
}

/// Address of a line that is not blank, or the line's error.
fn address(line: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    let line = str::from_utf8(line).map_err(|_| NOT_UTF8)?;
    let read = match line.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<Text<'_>>(line).map(|text| text.0),
        // serde would accept an array as well.
        Some(b'{') => serde_json::from_str::<Object<'_>>(line).map(|object| object.email),
        _ => return Err(NOT_AN_ADDRESS),
    };
    read.map_err(|_| NOT_AN_ADDRESS)
}
