//! Reads the body of `POST /v1/batch-verify`: from pieces to blocks of addresses, while it streams in.
//!
//! ```text
//! Format::named(media type) -> Intake -> push(piece)* -> finish -> Submission
//!                                |          |             |
//!                                |          +-- packed blocks of up to 1,000 addresses, in the order of the body
//!                                +-- json, csv or lines: a reader that holds one address and little else
//! ```
//!
//! This module never waits, stores or reads a clock: the caller reads pieces from the connection, within its bounds of size and
//! time, and stores the blocks. How the body is cut into pieces never changes the outcome. Memory is one address (1 KiB; 64 KiB
//! for lines; for CSV, 3 MiB of its beginning or one record) and the current block; a piece of `n` bytes yields at most `n / 2`
//! addresses.
//!
//! It can be fuzzed without the service, which is a hundred times its size.
//!
//! A [`SubmissionFault`] ends the reading; the caller drops the blocks returned before.

mod csv;
mod fault;
mod format;
mod json;
mod lines;
#[cfg(test)]
mod tests;

use probity_account::block::{Filling, PackedBlock};

use self::csv::CsvReader;
use self::json::{JsonReader, Members};
use self::lines::LineReader;

use crate::remarks::Oddity;

pub use fault::SubmissionFault;
pub use format::SubmissionFormat;

const TOO_LONG: &str = "the address may have at most 1024 bytes";
/// Default maximum of addresses per submission.
pub const ROWS_MAX: usize = 1_000_000;
/// Longest element of `emails`, in bytes of UTF-8; the same as for a single address.
pub const ADDRESS_MAX_BYTES: usize = probity_account::block::ADDRESS_MAX_BYTES;
/// Longest `webhook_url`, in bytes.
pub const WEBHOOK_URL_MAX_BYTES: usize = 2_048;
/// Longest `name`, in bytes: [`NAME_MAX`](probity_account::name::NAME_MAX) characters of up to four bytes.
pub const NAME_MAX_BYTES: usize = 4 * probity_account::name::NAME_MAX;
/// Maximum nesting of arrays and objects in any body of the API. The deepest needs 4.
pub const DEPTH_MAX: usize = 32;
/// Longest line of NDJSON, in bytes as received.
pub const LINE_MAX_BYTES: usize = 64 * 1_024;

/// A submission without its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Callback URL as sent, neither parsed nor checked. JSON bodies only; the others have it in the query.
    pub webhook_url: Option<String>,
    /// Name of the list as sent, not checked. JSON bodies only.
    pub name: Option<String>,
    /// Number of addresses, at least 1.
    pub rows: usize,
    pub left_out: LeftOut,
}

/// What of a body is not in the submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Rows of CSV without an address.
    pub rows: Oddity,
    /// Addresses in other columns of CSV than that of the addresses.
    pub others: u64,
    /// Members of JSON that are not known, the first ones.
    pub fields: Vec<String>,
}

pub struct Intake {
    reader: Reader,
    blocks: Blocks,
}

enum Reader {
    Json(JsonReader),
    Csv(Box<CsvReader>),
    Lines(LineReader),
}

/// Addresses read so far, in blocks.
#[derive(Debug)]
struct Blocks {
    rows_max: usize,
    rows: usize,
    filling: Filling,
    full: Vec<PackedBlock>,
}

impl Blocks {
    fn new(rows_max: usize) -> Self {
        Self { rows_max, rows: 0, filling: Filling::default(), full: Vec::new() }
    }

    /// Fails if there is no room for another address.
    fn room(&self) -> Result<(), SubmissionFault> {
        if self.rows == self.rows_max { Err(SubmissionFault::TooMany(self.rows_max)) } else { Ok(()) }
    }

    /// Adds an address, for which there is room.
    fn keep(&mut self, address: &str) {
        self.filling.push(address.as_bytes()).expect("readers bound addresses, and a full block was taken");
        self.rows += 1;
        if self.filling.is_full() {
            self.full.extend(self.filling.take());
        }
    }

    /// Adds the address of a line.
    fn keep_of_line(&mut self, line: u64, address: &str) -> Result<(), SubmissionFault> {
        if address.len() > ADDRESS_MAX_BYTES {
            return Err(SubmissionFault::Line(line, TOO_LONG));
        }
        self.room()?;
        self.keep(address);
        Ok(())
    }
}

impl Intake {
    /// Starts a body of this format with at most `rows_max` addresses.
    pub fn new(format: SubmissionFormat, rows_max: usize) -> Self {
        let reader = match format {
            SubmissionFormat::Json => Reader::Json(JsonReader::new()),
            SubmissionFormat::Csv => Reader::Csv(CsvReader::new().into()),
            SubmissionFormat::Ndjson => Reader::Lines(LineReader::default()),
        };
        Self { reader, blocks: Blocks::new(rows_max) }
    }

    /// Reads the next piece of the body and appends completed blocks to `full`. Do not call it after a fault.
    pub fn push(&mut self, piece: &[u8], full: &mut Vec<PackedBlock>) -> Result<(), SubmissionFault> {
        match &mut self.reader {
            Reader::Json(reader) => reader.push(piece, &mut self.blocks)?,
            Reader::Csv(reader) => reader.push(piece, &mut self.blocks)?,
            Reader::Lines(reader) => reader.push(piece, &mut self.blocks)?,
        }
        full.append(&mut self.blocks.full);
        Ok(())
    }

    /// Ends the body: appends the last blocks to `full`.
    pub fn finish(self, full: &mut Vec<PackedBlock>) -> Result<Submission, SubmissionFault> {
        let Self { reader, mut blocks } = self;
        let mut members = Members::default();
        let mut left_out = LeftOut::default();
        match reader {
            Reader::Json(reader) => members = reader.finish()?,
            Reader::Csv(reader) => left_out = reader.finish(&mut blocks)?,
            Reader::Lines(mut reader) => reader.finish(&mut blocks)?,
        }
        if blocks.rows == 0 {
            return Err(SubmissionFault::NoRows);
        }
        full.append(&mut blocks.full);
        full.extend(blocks.filling.take());
        let Members { webhook_url, name, unknown } = members;
        Ok(Submission { webhook_url, name, rows: blocks.rows, left_out: LeftOut { fields: unknown, ..left_out } })
    }

    /// Number of addresses read so far.
    pub fn rows(&self) -> usize {
        self.blocks.rows
    }
}
