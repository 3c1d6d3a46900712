//! The first record of a CSV, which decides how the rest is read.

use crate::column::Sample;
use csv_core::{ReadFieldResult, ReaderBuilder};

use super::{Fault, LINE_MAX_BYTES, RECORD_TOO_LONG};

/// Separators that are looked for, the likeliest first.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
const NO_COLUMN: &str =
    "no column is called `email`, and no field has an address: which column has them cannot be told";
/// A byte order mark tells nothing about UTF-8 and is left out.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Gathers the first record that has something in it.
#[derive(Debug)]
pub(super) struct Head {
    text: Vec<u8>,
    /// The line in which it begins.
    line: u64,
    quoted: bool,
    /// How many bytes of a mark were seen; nothing once it is certain whether there is one.
    mark: Option<usize>,
}

impl Default for Head {
    fn default() -> Self {
        Self { text: Vec::new(), line: 1, quoted: false, mark: Some(0) }
    }
}

impl Head {
    /// Takes bytes up to the end of the record; gives how many, and whether the record is whole.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<(usize, bool), Fault> {
        for (at, &byte) in piece.iter().enumerate() {
            if self.is_mark(byte) {
                continue;
            }
            let ends = matches!(byte, b'\r' | b'\n') && !self.quoted;
            if ends && !self.text.trim_ascii().is_empty() {
                return Ok((at, true));
            }
            if ends {
                self.text.clear();
                self.line += u64::from(byte == b'\n');
                continue;
            }
            // A quote opens where a field begins and behind a quote (doubled, it stands for itself), and closes anywhere.
            if byte == b'"' {
                let opens = self.text.last().is_none_or(|last| DELIMITERS.contains(last) || *last == b'"');
                self.quoted = !self.quoted && opens;
            }
            if self.text.len() == LINE_MAX_BYTES {
                return Err(Fault::Line(self.line, RECORD_TOO_LONG));
            }
            self.text.push(byte);
        }
        Ok((piece.len(), false))
    }

    /// Whether the byte belongs to a mark at the very beginning.
    fn is_mark(&mut self, byte: u8) -> bool {
        let Some(seen) = self.mark else { return false };
        if byte == MARK[seen] {
            self.mark = Some(seen + 1).filter(|seen| *seen < MARK.len());
            return true;
        }
        // It was none: what looked like one is text.
        self.text.extend_from_slice(&MARK[..seen]);
        self.mark = None;
        false
    }

    /// The record as it arrived, without its line end.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The line in which it begins, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }
}

/// How the records are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) delimiter: u8,
    /// The column with the addresses, counted from 0.
    pub(super) column: usize,
    /// Whether the first record names the columns.
    pub(super) header: bool,
}

impl Plan {
    /// Decides by the first record, which begins in `line`: the separator that lays open a column's name or an address and makes the
    /// most fields, and the column as files that are uploaded have it ([`Sample::column`]).
    ///
    /// The record is a header only where it names a column with addresses and has none itself: whatever else it is, it is a row. Of
    /// one column each line is an address, whatever it looks like. Of several one must be told from the others: taking the first would
    /// charge for a list of names.
    pub(super) fn of(record: &[u8], line: u64) -> Result<Self, Fault> {
        let read = DELIMITERS.map(|delimiter| (delimiter, cells(record, delimiter)));
        let telling = |cells: &[String]| cells.iter().any(|cell| is_address(cell)) || sample(cells).is_named();
        let best = read.iter().rev().max_by_key(|(_, cells)| (telling(cells), cells.len()));
        let (delimiter, cells) = best.expect("there are separators");
        let column = sample(cells).column(None, false);
        // An address without a domain that mail finds is one for all that; and one column needs nothing by which it is told.
        let other = || with_at(cells).or_else(|| (cells.len() < 2).then_some(0)).map(|column| (column, false));
        let found = column.ok().or_else(other);
        let (column, header) = found.ok_or(Fault::Line(line, NO_COLUMN))?;
        Ok(Self { delimiter: *delimiter, column, header })
    }
}

/// One record as the beginning of a list.
fn sample(cells: &[String]) -> Sample {
    Sample::of_rows(vec![cells.to_vec()])
}

fn with_at(cells: &[String]) -> Option<usize> {
    cells.iter().position(|cell| cell.contains('@'))
}

/// Whether it looks like one address and nothing else.
fn is_address(cell: &str) -> bool {
    let cell = cell.trim();
    cell.matches('@').count() == 1 && !cell.contains([' ', ',', ';', '\t'])
}

fn cells(record: &[u8], delimiter: u8) -> Vec<String> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let mut field = vec![0; record.len() + 1];
    let mut cells = Vec::new();
    let (mut at, mut filled) = (0, 0);
    loop {
        // What is empty tells the reader that the record is over.
        let (result, used, written) = reader.read_field(&record[at..], &mut field[filled..]);
        at += used;
        filled += written;
        match result {
            ReadFieldResult::Field { record_end } => {
                cells.push(String::from_utf8_lossy(&field[..filled]).into_owned());
                filled = 0;
                if record_end {
                    return cells;
                }
            }
            ReadFieldResult::InputEmpty => {}
            ReadFieldResult::OutputFull | ReadFieldResult::End => return cells,
        }
    }
}
