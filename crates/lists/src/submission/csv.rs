//! `text/csv` (RFC 4180): one address per record, from the column that the header names, else from the column with the first
//! record's address.
//!
//! The first record decides the separator, the column and whether it is a header ([`crate::submission::csv_head`]). `csv-core`
//! reads fields, with the deviations of real files (any line ends, records of any length). A list with one address per line is
//! CSV with one column. Records with only blank fields are skipped: spreadsheets end with them. A record with other fields but no
//! address is a row with an empty address, so that nothing is omitted silently.
//!
//! Only the address of a record is kept. Apparent damage is rejected with its line: an address or a record without an end, a quote
//! that is never closed, an address that is not UTF-8. Other columns may be in any encoding. A list in UTF-16 would pass for UTF-8
//! with a NUL in each letter: its first record, or any such address, is rejected. An address with only a NUL or two is an ordinary
//! row with an invalid address.

use csv_core::{ReadFieldResult, Reader};
use memchr::memchr;

use super::fault::not_wide;
use super::{ADDRESS_MAX_BYTES, LINE_MAX_BYTES, SubmissionFault};
use crate::submission::csv_head::{HeadCollector, RecordPlan};

const TOO_LONG: &str = "the address may have at most 1024 bytes";
pub(super) const RECORD_TOO_LONG: &str = "a record may have at most 65536 bytes; check for an unclosed quote";
const NOT_UTF8: &str = "the address must be UTF-8";
const UNCLOSED: &str = "a quote is not closed";

#[derive(Debug)]
pub(super) struct CsvReader {
    stage: Stage,
    rows: usize,
    rows_max: usize,
}

#[derive(Debug)]
enum Stage {
    Head(HeadCollector),
    Records(Box<Records>),
}

impl CsvReader {
    pub(super) fn new(rows_max: usize) -> Self {
        Self { stage: Stage::Head(HeadCollector::default()), rows: 0, rows_max }
    }

    /// Reads a piece; `take` receives each address, at most [`ADDRESS_MAX_BYTES`] long.
    pub(super) fn push(&mut self, piece: &[u8], take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        let mut rest = piece;
        if let Stage::Head(head) = &mut self.stage {
            let (used, whole) = head.add(rest)?;
            rest = &rest[used..];
            if whole {
                self.begin(take)?;
            }
        }
        match &mut self.stage {
            Stage::Head(_) => Ok(()),
            Stage::Records(records) => {
                records.read(rest, &mut Rows { count: &mut self.rows, max: self.rows_max, take })
            }
        }
    }

    /// Ends the body: the last record needs no line end.
    pub(super) fn finish(mut self, take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        if matches!(self.stage, Stage::Head(_)) {
            self.begin(take)?;
        }
        if let Stage::Records(records) = &mut self.stage {
            records.finish(&mut Rows { count: &mut self.rows, max: self.rows_max, take })?;
        }
        if self.rows == 0 { Err(SubmissionFault::NoRows) } else { Ok(()) }
    }

    /// Called with the complete first record, or the whole input: decides, and reads it.
    fn begin(&mut self, take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        let Stage::Head(head) = &mut self.stage else { return Ok(()) };
        not_wide(head.text())?;
        let mut records = Box::new(Records::new(&RecordPlan::of(head.text(), head.line())?, head.line()));
        let mut rows = Rows { count: &mut self.rows, max: self.rows_max, take };
        records.read(head.text(), &mut rows)?;
        self.stage = Stage::Records(records);
        Ok(())
    }
}

/// Destination of addresses.
struct Rows<'a, T> {
    count: &'a mut usize,
    max: usize,
    take: &'a mut T,
}

impl<T: FnMut(&[u8])> Rows<'_, T> {
    fn row(&mut self, address: &[u8]) -> Result<(), SubmissionFault> {
        if *self.count == self.max {
            return Err(SubmissionFault::TooMany(self.max));
        }
        *self.count += 1;
        (self.take)(address);
        Ok(())
    }
}

/// Current record.
#[derive(Debug, Default)]
struct Record {
    /// Its first line; `None` between records.
    line: Option<u64>,
    /// Its bytes so far, as received.
    bytes: usize,
    /// Current field.
    column: usize,
    /// Whether it has only blanks so far.
    blank: bool,
    /// Length of the address, once its field was read.
    address: Option<usize>,
}

#[derive(Debug)]
struct Records {
    reader: Reader,
    column: usize,
    /// Whether the next record is the header.
    header: bool,
    record: Record,
    /// Line ends between records, which `csv-core` does not see.
    lines_between: u64,
    /// Content of the current field. One byte longer than an address may be, so that a full one is too long.
    field: Vec<u8>,
    filled: usize,
    address: Vec<u8>,
}

impl Records {
    fn new(plan: &RecordPlan, line: u64) -> Self {
        let mut reader = csv_core::ReaderBuilder::new().delimiter(plan.delimiter).build();
        reader.set_line(line);
        Self {
            reader,
            column: plan.column,
            header: plan.header,
            record: Record::default(),
            lines_between: 0,
            field: vec![0; ADDRESS_MAX_BYTES + 1],
            filled: 0,
            address: Vec::with_capacity(ADDRESS_MAX_BYTES),
        }
    }

    fn read<T: FnMut(&[u8])>(&mut self, mut rest: &[u8], rows: &mut Rows<'_, T>) -> Result<(), SubmissionFault> {
        while let Some(&byte) = rest.first() {
            if self.record.line.is_none() {
                if matches!(byte, b'\r' | b'\n') {
                    self.lines_between += u64::from(byte == b'\n');
                    rest = &rest[1..];
                    continue;
                }
                let line = self.reader.line() + self.lines_between;
                self.record = Record { line: Some(line), blank: true, ..Record::default() };
            }
            // One byte more than the maximum reveals a record that is too long, wherever the pieces are cut.
            let room = (LINE_MAX_BYTES + 1 - self.record.bytes).min(rest.len());
            let used = self.step(&rest[..room], rows)?;
            rest = &rest[used..];
        }
        Ok(())
    }

    /// Reads at most one field; returns the bytes used.
    fn step<T: FnMut(&[u8])>(&mut self, input: &[u8], rows: &mut Rows<'_, T>) -> Result<usize, SubmissionFault> {
        let (result, used, written) = self.reader.read_field(input, &mut self.field[self.filled..]);
        let fresh = &self.field[self.filled..self.filled + written];
        self.record.blank &= fresh.trim_ascii().is_empty();
        self.filled += written;
        self.record.bytes += used;
        let ended = matches!(result, ReadFieldResult::Field { record_end: true });
        // The line end belongs to the record, and does not count.
        if self.record.bytes > LINE_MAX_BYTES + usize::from(ended) {
            return Err(self.fault(RECORD_TOO_LONG));
        }
        if self.filled > ADDRESS_MAX_BYTES {
            if self.record.column == self.column && !self.header {
                return Err(self.fault(TOO_LONG));
            }
            self.filled = 0;
        }
        match result {
            ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull | ReadFieldResult::End => {}
            ReadFieldResult::Field { record_end } => {
                self.field();
                if record_end {
                    self.end(rows)?;
                }
            }
        }
        Ok(used)
    }

    fn field(&mut self) {
        if self.record.column == self.column {
            self.address.clear();
            self.address.extend_from_slice(&self.field[..self.filled]);
            self.record.address = Some(self.filled);
        }
        self.record.column += 1;
        self.filled = 0;
    }

    fn end<T: FnMut(&[u8])>(&mut self, rows: &mut Rows<'_, T>) -> Result<(), SubmissionFault> {
        let record = std::mem::take(&mut self.record);
        if record.blank || std::mem::take(&mut self.header) {
            return Ok(());
        }
        let address = record.address.map_or(&[][..], |length| &self.address[..length]);
        let readable = str::from_utf8(address).is_ok();
        if !readable || memchr(0, address).is_some() {
            not_wide(address)?;
        }
        if !readable {
            return Err(SubmissionFault::Line(record.line.unwrap_or_default(), NOT_UTF8));
        }
        rows.row(address)
    }

    fn finish<T: FnMut(&[u8])>(&mut self, rows: &mut Rows<'_, T>) -> Result<(), SubmissionFault> {
        if self.record.line.is_none() {
            return Ok(());
        }
        // A line end does not end the record only within quotes.
        self.step(b"\n", rows)?;
        if self.record.line.is_some() { Err(self.fault(UNCLOSED)) } else { Ok(()) }
    }

    fn fault(&self, what: &'static str) -> SubmissionFault {
        SubmissionFault::Line(self.record.line.unwrap_or_default(), what)
    }
}
