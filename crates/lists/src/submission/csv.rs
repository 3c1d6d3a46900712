//! `text/csv`: one address per record, from the column that uploads would take ([`crate::column`]).
//!
//! The text is read as any other file ([`crate::rows`]), except that it must say its addresses in UTF-8: nobody looks at a preview.
//! A list with one address per line is CSV with one column. Rows without an address ([`crate::absent`]) are skipped and counted.
//!
//! Only the address of a record is kept. Apparent damage is rejected with its line: an address or a record without an end, a quote
//! that is never closed, an address that is not UTF-8. Other columns may be in any encoding.

use super::{Blocks, LeftOut, SubmissionFault};
use crate::FileFault;
use crate::absent::{Absence, absence, cleaned, has_address};
use crate::column::OtherAddresses;
use crate::remarks::Oddity;
use crate::rows::{Record, RecordKind, TextForm, TextHint, TextRecords};

const RECORD_TOO_LONG: &str = "a record may have at most 1048576 bytes; check for an unclosed quote";
const NOT_UTF8: &str = "the address must be UTF-8";
const WRAPPED: &str =
    "each row is in quotes as a whole, and its cells cannot be told apart; send it without these quotes";
const UNCLOSED: &str = "a quote is not closed";
const SEVERAL: &str =
    "no row has just one address, and this is the first with several in one cell; give each a row of its own";
const NO_COLUMN: &str = "no column is named `email`, and no field has an address; name the address column `email`";

const CSV: TextHint = TextHint {
    form: Some(TextForm::Csv),
    delimiter: None,
    encoding: None,
    named: false,
    // A line of recipients is read as such.
    by_name: true,
    pasted: false,
};

pub(super) struct CsvReader {
    records: TextRecords,
    choice: Option<Choice>,
    without: Oddity,
    /// Those of them with several addresses in one cell.
    several: Oddity,
    others: OtherAddresses,
    has_address: bool,
}

/// The address column, and its header.
struct Choice {
    column: usize,
    header: Option<String>,
}

impl CsvReader {
    pub(super) fn new() -> Self {
        Self {
            records: TextRecords::new(CSV),
            choice: None,
            without: Oddity::default(),
            several: Oddity::default(),
            others: OtherAddresses::default(),
            has_address: false,
        }
    }

    /// Reads a piece; `blocks` receives each address.
    pub(super) fn push(&mut self, piece: &[u8], blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        self.records.push(piece);
        self.read(blocks)
    }

    /// Ends the body: the last record needs no line end.
    pub(super) fn finish(mut self, blocks: &mut Blocks) -> Result<LeftOut, SubmissionFault> {
        self.records.end();
        self.read(blocks)?;
        match self.several {
            _ if self.has_address => {
                Ok(LeftOut { rows: self.without, others: self.others.count(), fields: Vec::new() })
            }
            Oddity { count: 0, .. } => Err(SubmissionFault::NoRows),
            Oddity { line, .. } => Err(SubmissionFault::Line(line, SEVERAL)),
        }
    }

    fn read(&mut self, blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        if self.records.encoding().is_wide() {
            return Err(SubmissionFault::Utf16);
        }
        while let Some(record) = self.records.next_record().map_err(of_file)? {
            if record.kind != RecordKind::Row {
                continue;
            }
            if let Some(several) = self.records.recipients(&record) {
                several.iter().try_for_each(|address| self.entry(&record, address, None, blocks))?;
                continue;
            }
            if self.choice.is_none() && self.choose(&record)? {
                continue;
            }
            self.row(&record, blocks)?;
        }
        Ok(())
    }

    /// Chooses the column at the first row; returns whether that is the header.
    fn choose(&mut self, record: &Record) -> Result<bool, SubmissionFault> {
        // Lines of recipients are rows of one cell.
        if self.records.layout().is_some_and(|layout| layout.form != TextForm::Csv) {
            self.choice = Some(Choice { column: 0, header: None });
            return Ok(false);
        }
        let found = self.records.take_sample().and_then(|sample| sample.column(None, false).ok());
        let (column, header) = found.ok_or(SubmissionFault::Line(record.raw.line, NO_COLUMN))?;
        let name = record.cells.get(column).filter(|_| header).cloned();
        self.choice = Some(Choice { column, header: name });
        Ok(header)
    }

    fn row(&mut self, record: &Record, blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        let Some(choice) = self.choice.take() else { return Ok(()) };
        self.others.row(&record.cells, choice.column);
        let cell = record.cells.get(choice.column).map_or("", String::as_str);
        let taken = self.entry(record, cell, choice.header.as_deref(), blocks);
        self.choice = Some(choice);
        taken
    }

    /// Takes the cell of the address column.
    fn entry(
        &mut self,
        record: &Record,
        cell: &str,
        header: Option<&str>,
        blocks: &mut Blocks,
    ) -> Result<(), SubmissionFault> {
        let address = cleaned(cell).unwrap_or(cell);
        if let Some(absence) = absence(address, header, false) {
            self.without.meet(record.raw.line);
            if matches!(absence, Absence::Several(_)) {
                self.several.meet(record.raw.line);
            }
            return Ok(());
        }
        self.address(record, address, blocks)
    }

    fn address(&mut self, record: &Record, address: &str, blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        let line = record.raw.line;
        if record.foreign && !address.is_ascii() {
            return Err(SubmissionFault::Line(line, NOT_UTF8));
        }
        self.has_address |= has_address(address);
        blocks.keep_of_line(line, address)
    }
}

fn of_file(fault: FileFault) -> SubmissionFault {
    match fault {
        FileFault::OpenQuote(line) => SubmissionFault::Line(line, UNCLOSED),
        FileFault::WrappedRows => SubmissionFault::Line(1, WRAPPED),
        fault => SubmissionFault::Line(fault.number().unwrap_or_default(), RECORD_TOO_LONG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_not_kept() {
        let mut reader = CsvReader::new();
        reader.records.push(b"email\na@x.org\n");
        reader.records.end();
        reader.read(&mut Blocks::new(9)).unwrap();
        assert_eq!(reader.records.layout().map(|layout| layout.sample.rows.len()), Some(0));
    }
}
