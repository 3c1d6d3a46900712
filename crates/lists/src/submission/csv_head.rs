//! The first record of a CSV, which decides how the rest is read.

use crate::column::Sample;
use csv_core::{ReadFieldResult, ReaderBuilder};
use probity_mail::address::bare_address;

use super::csv::RECORD_TOO_LONG;
use crate::submission::{LINE_MAX_BYTES, SubmissionFault};

/// Candidate separators, likeliest first.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
const NO_COLUMN: &str = "no column is named `email`, and no field has an address; name the address column `email`";
/// A byte order mark says nothing about UTF-8 and is skipped.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Collects the first record with content.
#[derive(Debug)]
pub(super) struct HeadCollector {
    text: Vec<u8>,
    /// Its first line.
    line: u64,
    quoted: bool,
    /// Bytes of a mark seen; `None` once it is certain whether there is one.
    mark: Option<usize>,
}

impl Default for HeadCollector {
    fn default() -> Self {
        Self { text: Vec::new(), line: 1, quoted: false, mark: Some(0) }
    }
}

impl HeadCollector {
    /// Reads bytes up to the end of the record; returns their number, and whether the record is complete.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<(usize, bool), SubmissionFault> {
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
            // A quote opens at the start of a field and after a quote (a doubled one is literal), and closes anywhere.
            if byte == b'"' {
                let opens = self.text.last().is_none_or(|last| DELIMITERS.contains(last) || *last == b'"');
                self.quoted = !self.quoted && opens;
            }
            if self.text.len() == LINE_MAX_BYTES {
                return Err(SubmissionFault::Line(self.line, RECORD_TOO_LONG));
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
        // It was not a mark but text.
        self.text.extend_from_slice(&MARK[..seen]);
        self.mark = None;
        false
    }

    /// The record as received, without its line end.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Its first line, counted from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }
}

/// How to read the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordPlan {
    pub(crate) delimiter: u8,
    /// Address column, counted from 0.
    pub(crate) column: usize,
    /// Whether the first record names the columns.
    pub(crate) header: bool,
}

impl RecordPlan {
    /// Decides by the first record, which begins in `line`: the separator that reveals a column's name or an address and yields the
    /// most fields, and the column as for uploaded files ([`Sample::column`]).
    ///
    /// The record is a header only if it names an address column and contains no address; otherwise it is a row. With one column,
    /// each line is an address, whatever it looks like. With several, the column must be identifiable: taking the first would
    /// charge for a list of names.
    pub(crate) fn of(record: &[u8], line: u64) -> Result<Self, SubmissionFault> {
        let read = DELIMITERS.map(|delimiter| (delimiter, cells(record, delimiter)));
        let telling = |cells: &[String]| cells.iter().any(|cell| is_address(cell)) || sample(cells).is_named();
        let best = read.iter().rev().max_by_key(|(_, cells)| (telling(cells), cells.len()));
        let (delimiter, cells) = best.expect("there are separators");
        let column = sample(cells).column(None, false);
        // An address without a valid domain still marks its column, and a single column needs no mark.
        let other = || with_at(cells).or_else(|| (cells.len() < 2).then_some(0)).map(|column| (column, false));
        let found = column.ok().or_else(other);
        let (column, header) = found.ok_or(SubmissionFault::Line(line, NO_COLUMN))?;
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

/// Whether it looks like exactly one address, perhaps behind a name.
fn is_address(cell: &str) -> bool {
    let cell = bare_address(cell);
    cell.matches('@').count() == 1 && !cell.contains([' ', ',', ';', '\t'])
}

fn cells(record: &[u8], delimiter: u8) -> Vec<String> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let mut field = vec![0; record.len() + 1];
    let mut cells = Vec::new();
    let (mut at, mut filled) = (0, 0);
    loop {
        // Empty input marks the end of the record.
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
