//! `application/x-ndjson`: each line is a JSON string, or an object with the string `email`.
//!
//! A line is read once it is complete, so a cut within one changes nothing. Blank lines are skipped. Members other than `email` are
//! ignored, and a repeated `email` is rejected, as in JSON bodies.

use std::borrow::Cow;

use memchr::memchr;
use serde::Deserialize;

use super::fault::not_wide;
use super::{ADDRESS_MAX_BYTES, LINE_MAX_BYTES, SubmissionFault};

const LINE_TOO_LONG: &str = "may have at most 65536 bytes";
const TOO_LONG: &str = "the address may have at most 1024 bytes";
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

#[derive(Debug)]
pub(super) struct LineReader {
    /// Part of a line from earlier pieces.
    line: Vec<u8>,
    /// Line number, counted from 1.
    number: u64,
    rows: usize,
    rows_max: usize,
}

impl LineReader {
    pub(super) fn new(rows_max: usize) -> Self {
        Self { line: Vec::new(), number: 1, rows: 0, rows_max }
    }

    /// Reads a piece; `take` receives each address, unescaped and at most [`ADDRESS_MAX_BYTES`] long.
    pub(super) fn push(&mut self, piece: &[u8], take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        let mut rest = piece;
        while let Some(end) = memchr(b'\n', rest) {
            if self.line.is_empty() {
                self.whole(&rest[..end], take)?;
            } else {
                self.add(&rest[..end])?;
                let line = std::mem::take(&mut self.line);
                self.whole(&line, take)?;
                self.line = line;
                self.line.clear();
            }
            self.number += 1;
            rest = &rest[end + 1..];
        }
        self.add(rest)
    }

    /// Ends the body: the last line needs no line end.
    pub(super) fn finish(mut self, take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        let line = std::mem::take(&mut self.line);
        self.whole(&line, take)?;
        if self.rows == 0 { Err(SubmissionFault::NoRows) } else { Ok(()) }
    }

    fn fault<T>(&self, what: &'static str) -> Result<T, SubmissionFault> {
        Err(SubmissionFault::Line(self.number, what))
    }

    fn add(&mut self, part: &[u8]) -> Result<(), SubmissionFault> {
        if self.line.len() + part.len() > LINE_MAX_BYTES {
            return self.fault(LINE_TOO_LONG);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn whole(&mut self, line: &[u8], take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        if line.len() > LINE_MAX_BYTES {
            return self.fault(LINE_TOO_LONG);
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        if self.rows == self.rows_max {
            return Err(SubmissionFault::TooMany(self.rows_max));
        }
        let address = address(line).or_else(|what| {
            not_wide(line)?;
            self.fault(what)
        })?;
        if address.len() > ADDRESS_MAX_BYTES {
            return self.fault(TOO_LONG);
        }
        take(address.as_bytes());
        self.rows += 1;
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
