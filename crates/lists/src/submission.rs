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
//! for lines; for CSV, 3 MiB of its beginning or one record) and the current block; a piece of `n` bytes yields at most `n / 2` addresses.
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
use self::json::JsonReader;
use self::lines::LineReader;

use crate::remarks::Oddity;

pub use fault::SubmissionFault;
pub use format::SubmissionFormat;

/// Default maximum of addresses per submission.
pub const ROWS_MAX: usize = 1_000_000;
/// Longest element of `emails`, in bytes of UTF-8; the same as for a single address.
pub const ADDRESS_MAX_BYTES: usize = probity_account::block::ADDRESS_MAX_BYTES;
/// Longest `webhook_url`, in bytes.
pub const WEBHOOK_URL_MAX_BYTES: usize = 2_048;
/// Maximum nesting of arrays and objects in any body of the API. The deepest needs 4.
pub const DEPTH_MAX: usize = 32;
/// Longest line of NDJSON, in bytes as received.
pub const LINE_MAX_BYTES: usize = 64 * 1_024;

/// A submission without its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Callback URL as sent, neither parsed nor checked. JSON bodies only; the others have it in the query.
    pub webhook_url: Option<String>,
    /// Number of addresses, at least 1.
    pub rows: usize,
    /// Rows of CSV without an address, which were skipped.
    pub without: Oddity,
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

/// The current block.
#[derive(Debug)]
struct Blocks {
    filling: Filling,
    rows: usize,
}

impl Blocks {
    fn keep(&mut self, address: &[u8], full: &mut Vec<PackedBlock>) {
        self.filling.push(address).expect("readers bound addresses, and a full block was taken");
        self.rows += 1;
        if self.filling.is_full() {
            full.extend(self.filling.take());
        }
    }
}

impl Intake {
    /// Starts a body of this format with at most `rows_max` addresses.
    pub fn new(format: SubmissionFormat, rows_max: usize) -> Self {
        let reader = match format {
            SubmissionFormat::Json => Reader::Json(JsonReader::new(rows_max)),
            SubmissionFormat::Csv => Reader::Csv(CsvReader::new(rows_max).into()),
            SubmissionFormat::Ndjson => Reader::Lines(LineReader::new(rows_max)),
        };
        Self { reader, blocks: Blocks { filling: Filling::default(), rows: 0 } }
    }

    /// Reads the next piece of the body and appends completed blocks to `full`. Do not call it after a fault.
    pub fn push(&mut self, piece: &[u8], full: &mut Vec<PackedBlock>) -> Result<(), SubmissionFault> {
        let mut take = |address: &[u8]| self.blocks.keep(address, full);
        match &mut self.reader {
            Reader::Json(reader) => reader.push(piece, &mut take),
            Reader::Csv(reader) => reader.push(piece, &mut take),
            Reader::Lines(reader) => reader.push(piece, &mut take),
        }
    }

    /// Ends the body: appends the last blocks to `full`.
    pub fn finish(mut self, full: &mut Vec<PackedBlock>) -> Result<Submission, SubmissionFault> {
        let mut take = |address: &[u8]| self.blocks.keep(address, full);
        let mut without = Oddity::default();
        let webhook_url = match self.reader {
            Reader::Json(reader) => reader.finish()?,
            Reader::Csv(reader) => {
                without = reader.finish(&mut take)?;
                None
            }
            Reader::Lines(reader) => {
                reader.finish(&mut take)?;
                None
            }
        };
        full.extend(self.blocks.filling.take());
        Ok(Submission { webhook_url, rows: self.blocks.rows, without })
    }

    /// Number of addresses read so far.
    pub fn rows(&self) -> usize {
        self.blocks.rows
    }
}
