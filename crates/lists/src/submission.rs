//! The reading side of `POST /v1/batch-verify`: from pieces of a body to blocks of addresses, while it streams in.
//!
//! ```text
//! Format::named(media type) -> Intake -> push(piece)* -> finish -> Submission
//!                                |          |             |
//!                                |          +-- packed blocks of up to 1,000 addresses, in the order of the body
//!                                +-- json, csv or lines: a reader that holds one address and little else
//! ```
//!
//! Nothing here waits, stores or looks at a clock: the caller reads pieces from the connection, with its bounds in size and
//! time, and keeps the blocks. How the body is cut into pieces never changes the outcome. Memory is one address (1 KiB; 64 KiB
//! for lines and records) and the block in the making, whatever arrives; a piece of `n` bytes gives at most `n / 2` addresses.
//!
//! It is a crate of its own, so that it can be fuzzed without the service around it, which is a hundred times its size.
//!
//! A [`Fault`] ends the reading; blocks given out before belong to a submission that will never be, and the caller drops them.

mod csv;
mod fault;
mod format;
mod json;
mod lines;
#[cfg(test)]
mod tests;

use probity_account::block::{Filling, Packed};

use self::csv::CsvReader;
use self::json::JsonReader;
use self::lines::LineReader;

pub use fault::Fault;
pub use format::Format;

/// How many addresses a submission may have unless configured otherwise.
pub const ROWS_MAX: usize = 1_000_000;
/// The longest element of `emails`, in bytes of UTF-8; the same as for a single address.
pub const ADDRESS_MAX_BYTES: usize = probity_account::block::ADDRESS_MAX_BYTES;
/// The longest `webhook_url`, in bytes.
pub const WEBHOOK_URL_MAX_BYTES: usize = 2_048;
/// How deep arrays and objects may lie in each other, in any body of the API. The deepest of them needs 4.
pub const DEPTH_MAX: usize = 32;
/// The longest line of NDJSON and the longest record of CSV, in bytes as they arrive.
pub const LINE_MAX_BYTES: usize = 64 * 1_024;

/// What was submitted, besides the addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// URL of the callback, as it was sent: neither parsed nor checked. JSON bodies only; the others have it in the query.
    pub webhook_url: Option<String>,
    /// How many addresses there were, at least one.
    pub rows: usize,
}

/// Reads one body.
#[derive(Debug)]
pub struct Intake {
    reader: Reader,
    blocks: Blocks,
}

#[derive(Debug)]
enum Reader {
    Json(JsonReader),
    Csv(CsvReader),
    Lines(LineReader),
}

/// The block in the making.
#[derive(Debug)]
struct Blocks {
    filling: Filling,
    rows: usize,
}

impl Blocks {
    fn keep(&mut self, address: &[u8], full: &mut Vec<Packed>) {
        self.filling.push(address).expect("readers bound addresses, and a full block was taken");
        self.rows += 1;
        if self.filling.is_full() {
            full.extend(self.filling.take());
        }
    }
}

impl Intake {
    /// Begins a body of this format that may have up to `rows_max` addresses.
    pub fn new(format: Format, rows_max: usize) -> Self {
        let reader = match format {
            Format::Json => Reader::Json(JsonReader::new(rows_max)),
            Format::Csv => Reader::Csv(CsvReader::new(rows_max)),
            Format::Ndjson => Reader::Lines(LineReader::new(rows_max)),
        };
        Self { reader, blocks: Blocks { filling: Filling::default(), rows: 0 } }
    }

    /// Reads the next piece of the body and adds the blocks that it fills to `full`. After a fault nothing more is to be given.
    pub fn push(&mut self, piece: &[u8], full: &mut Vec<Packed>) -> Result<(), Fault> {
        let mut take = |address: &[u8]| self.blocks.keep(address, full);
        match &mut self.reader {
            Reader::Json(reader) => reader.push(piece, &mut take),
            Reader::Csv(reader) => reader.push(piece, &mut take),
            Reader::Lines(reader) => reader.push(piece, &mut take),
        }
    }

    /// The body is over: adds the last blocks to `full`.
    pub fn finish(mut self, full: &mut Vec<Packed>) -> Result<Submission, Fault> {
        let mut take = |address: &[u8]| self.blocks.keep(address, full);
        let webhook_url = match self.reader {
            Reader::Json(reader) => reader.finish()?,
            Reader::Csv(reader) => {
                reader.finish(&mut take)?;
                None
            }
            Reader::Lines(reader) => {
                reader.finish(&mut take)?;
                None
            }
        };
        full.extend(self.blocks.filling.take());
        Ok(Submission { webhook_url, rows: self.blocks.rows })
    }

    /// How many addresses were read so far.
    pub fn rows(&self) -> usize {
        self.blocks.rows
    }
}
