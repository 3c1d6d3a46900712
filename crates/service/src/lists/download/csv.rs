//! Rows as CSV (RFC 4180), safe to open in spreadsheets.
//!
//! A cell that starts like a formula is prefixed with `'`, which marks it as text in spreadsheets. Addresses can start like
//! a formula (`+x@example.org`), so programs that need them unchanged request raw cells.

use probity_lists::rows::record::{is_formula, write_quoted};

use crate::lists::download::columns::{FileColumns, HEADER, OriginalRow};

/// Format of cells.
#[derive(Clone, Copy)]
pub(crate) struct CsvRows {
    /// Whether cells are written unchanged, formulas included.
    pub(crate) raw: bool,
    pub(crate) shape: CsvShape,
}

/// Separator, line ends and mark of a text: those of the uploaded file, so that the same program opens it in the same way.
#[derive(Clone, Copy)]
pub(crate) struct CsvShape {
    pub(crate) separator: char,
    pub(crate) line_end: &'static str,
    /// Whether the text begins with a byte order mark.
    pub(crate) mark: bool,
    /// Whether every field of the file is in quotes.
    pub(crate) is_quoted: bool,
}

impl Default for CsvShape {
    /// As in RFC 4180.
    fn default() -> Self {
        Self { separator: ',', line_end: "\r\n", mark: false, is_quoted: false }
    }
}

impl CsvRows {
    /// Returns the records of rows, after the header if they are the first.
    pub(super) fn text(self, columns: &FileColumns, rows: &[OriginalRow], first: bool) -> Vec<u8> {
        let mut text = Vec::with_capacity((rows.len() + 1) * 128);
        let own = columns.own_width();
        if first {
            text.extend("\u{feff}".bytes().filter(|_| self.shape.mark));
            columns.above().iter().for_each(|record| self.above(&mut text, record, &columns.cells_above(record)));
            self.record(&mut text, &columns.header(), own);
        }
        for row in rows {
            self.record(&mut text, &columns.cells(row), own);
        }
        text
    }

    /// Writes a record above the header: unchanged, unless one of its cells is a formula.
    fn above(self, text: &mut Vec<u8>, record: &str, cells: &[String]) {
        if !self.raw && cells.iter().any(|cell| is_formula(cell)) {
            return self.record(text, cells, 0);
        }
        text.extend(record.bytes());
        text.extend(self.shape.line_end.bytes());
    }

    /// Writes a record, of which the first `own` cells are the file's.
    pub(crate) fn record<T: AsRef<str>>(self, text: &mut Vec<u8>, cells: &[T], own: usize) {
        for (place, cell) in cells.iter().enumerate() {
            if place > 0 {
                text.extend(self.shape.separator.encode_utf8(&mut [0; 4]).bytes());
            }
            self.cell(text, cell.as_ref(), self.shape.is_quoted && place < own);
        }
        text.extend(self.shape.line_end.bytes());
    }

    /// Writes a cell. RFC 4180 §2: cells with a separator, quote or line end are quoted, and their quotes doubled. Cells with
    /// outer blanks are quoted too, because some readers strip blanks.
    fn cell(self, text: &mut Vec<u8>, cell: &str, always: bool) {
        let mark = if is_formula(cell) && !self.raw { "'" } else { "" };
        let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
        let bytes = cell.as_bytes();
        let quoted = always
            || cell.contains(self.shape.separator)
            || bytes.iter().any(|byte| b"\"\r\n".contains(byte))
            || outer(bytes.first())
            || outer(bytes.last())
            || (!self.raw && splits_into_formula(cell));
        if quoted {
            write_quoted(mark, cell, text);
        } else {
            text.extend(mark.bytes().chain(cell.bytes()));
        }
    }
}

/// Returns whether a program with another separator would find a formula within a cell.
fn splits_into_formula(cell: &str) -> bool {
    cell.split([',', ';']).skip(1).any(is_formula)
}

/// Returns the example file of the API description.
pub fn example() -> serde_json::Value {
    let header = HEADER.join(",");
    let row = "nobody@sandbox.test,sandbox.test,true,false,undeliverable,nonexistent,,2026-11-21T09:00:00.000Z,0";
    format!("{header}\r\n{row}\r\n").into()
}

#[cfg(test)]
mod tests {
    use csv_core::{ReadRecordResult, Reader};
    use probity_contract::published::jobs::batch::{BatchRow, RowHead};
    use proptest::prelude::*;

    use super::*;

    fn row(email: &str) -> OriginalRow {
        let head = RowHead { email: email.to_owned(), processed: false, index: Some(7) };
        OriginalRow { row: BatchRow { head, done: None }, own: None }
    }

    /// Returns the first cell of the second record, as a CSV reader parses it.
    fn read_back(text: &[u8]) -> (usize, Vec<u8>) {
        let mut reader = Reader::new();
        let mut rest = text;
        let mut email = Vec::new();
        for _ in 0..2 {
            let (mut cells, mut ends) = (vec![0; text.len() + 1], [0; 16]);
            let (result, used, _, count) = reader.read_record(rest, &mut cells, &mut ends);
            assert_eq!((result, count), (ReadRecordResult::Record, HEADER.len()));
            rest = &rest[used..];
            email = cells[..ends[0]].to_vec();
        }
        // The reader ends a record at its first line end, and skips the second one later.
        (rest.trim_ascii_start().len(), email)
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let text = |raw, email| {
            String::from_utf8(CsvRows { raw, shape: CsvShape::default() }.text(
                &FileColumns::of_job(),
                &[row(email)],
                false,
            ))
            .unwrap()
        };
        let cases = [
            ("jo@example.org", "jo@example.org,,false,,,,,,7\r\n"),
            ("a\"b, c", "\"a\"\"b, c\",,false,,,,,,7\r\n"),
            (" jo", "\" jo\",,false,,,,,,7\r\n"),
            ("=1+1", "'=1+1,,false,,,,,,7\r\n"),
            ("+x@example.org", "'+x@example.org,,false,,,,,,7\r\n"),
            ("＝1", "'＝1,,false,,,,,,7\r\n"),
            ("a;b", "a;b,,false,,,,,,7\r\n"),
            ("a;=b", "\"a;=b\",,false,,,,,,7\r\n"),
            ("\t=1", "\"'\t=1\",,false,,,,,,7\r\n"),
        ];
        for (email, expected) in cases {
            assert_eq!(text(false, email), expected);
        }
        assert_eq!(text(true, "+x@example.org"), "+x@example.org,,false,,,,,,7\r\n");
    }

    proptest! {
        #[test]
        fn no_cell_begins_like_a_formula_and_raw_ones_come_back(email in "[-=+@＝＋－＠\t\r\n\0 \",;'a]{0,6}|.{0,40}") {
            let (left, safe) = read_back(&CsvRows { raw: false, shape: CsvShape::default() }.text(&FileColumns::of_job(), &[row(&email)], true));
            prop_assert_eq!(left, 0);
            let safe = String::from_utf8(safe).unwrap();
            prop_assert!(!is_formula(&safe));
            prop_assert_eq!(safe.strip_prefix('\'').filter(|text| *text == email).unwrap_or(&safe), &email);
            let (left, raw) = read_back(&CsvRows { raw: true, shape: CsvShape::default() }.text(&FileColumns::of_job(), &[row(&email)], true));
            prop_assert_eq!((left, raw), (0, email.into_bytes()));
        }
    }
}
