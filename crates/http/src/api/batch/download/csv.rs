//! Rows as CSV: RFC 4180, and nothing in it that a spreadsheet runs.
//!
//! A cell that begins like a formula gets a `'` before it, which spreadsheets take as "this is text". Addresses may begin so
//! (`+x@example.org` is one), so programs that want them as they are ask for raw cells.

use crate::api::batch::download::columns::{Columns, FileRow, HEADER};

/// What a cell that is run as a formula begins with; the last four are the full-width forms of the first four.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// How cells are written.
#[derive(Clone, Copy)]
pub(super) struct CsvRows {
    /// As they are, formulas too.
    pub(super) raw: bool,
}

impl CsvRows {
    /// The records of these rows, after the header where they are the first.
    pub(super) fn text(self, columns: &Columns, rows: &[FileRow], first: bool) -> Vec<u8> {
        let mut text = Vec::with_capacity((rows.len() + 1) * 128);
        if first {
            self.record(&mut text, &columns.header());
        }
        for row in rows {
            self.record(&mut text, &columns.cells(row));
        }
        text
    }

    fn record<T: AsRef<str>>(self, text: &mut Vec<u8>, cells: &[T]) {
        for (place, cell) in cells.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            self.cell(text, cell.as_ref());
        }
        text.extend(b"\r\n");
    }

    /// RFC 4180 §2: a cell with a comma, a quote or a line end stands in quotes, and its quotes are doubled. Outer blanks are
    /// quoted too, because some readers drop them.
    fn cell(self, text: &mut Vec<u8>, cell: &str) {
        let runs = cell.starts_with('\0') || cell.starts_with(FORMULA);
        let mark = if runs && !self.raw { "'" } else { "" };
        let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
        let bytes = cell.as_bytes();
        let quoted = bytes.iter().any(|byte| b",;\"\r\n".contains(byte)) || outer(bytes.first()) || outer(bytes.last());
        if !quoted {
            text.extend(mark.bytes());
            text.extend(bytes);
            return;
        }
        text.push(b'"');
        text.extend(mark.bytes());
        for byte in bytes {
            if *byte == b'"' {
                text.push(b'"');
            }
            text.push(*byte);
        }
        text.push(b'"');
    }
}

/// A file as the API's description shows it.
pub(super) fn example() -> serde_json::Value {
    let header = HEADER.join(",");
    let row = "nobody@sandbox.test,sandbox.test,true,false,undeliverable,nonexistent,,2026-11-21T09:00:00.000Z,0";
    format!("{header}\r\n{row}\r\n").into()
}

#[cfg(test)]
mod tests {
    use csv_core::{ReadRecordResult, Reader};
    use proptest::prelude::*;

    use super::*;
    use probity_service::published::batch::{BatchRow, RowHead};

    fn row(email: &str) -> FileRow {
        let head = RowHead { email: email.to_owned(), processed: false, index: Some(7) };
        FileRow { row: BatchRow { head, done: None }, own: None }
    }

    /// The first cell of the second record, as a reader of CSV sees it.
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
        // The reader ends a record at its first line end, and skips the second later.
        (rest.trim_ascii_start().len(), email)
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let text =
            |raw, email| String::from_utf8(CsvRows { raw }.text(&Columns::of_job(), &[row(email)], false)).unwrap();
        let cases = [
            ("jo@example.org", "jo@example.org,,false,,,,,,7\r\n"),
            ("a\"b, c", "\"a\"\"b, c\",,false,,,,,,7\r\n"),
            (" jo", "\" jo\",,false,,,,,,7\r\n"),
            ("=1+1", "'=1+1,,false,,,,,,7\r\n"),
            ("+x@example.org", "'+x@example.org,,false,,,,,,7\r\n"),
            ("＝1", "'＝1,,false,,,,,,7\r\n"),
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
            let (left, safe) = read_back(&CsvRows { raw: false }.text(&Columns::of_job(), &[row(&email)], true));
            prop_assert_eq!(left, 0);
            let safe = String::from_utf8(safe).unwrap();
            prop_assert!(!safe.starts_with(FORMULA) && !safe.starts_with('\0'));
            prop_assert_eq!(safe.strip_prefix('\'').filter(|text| *text == email).unwrap_or(&safe), &email);
            let (left, raw) = read_back(&CsvRows { raw: true }.text(&Columns::of_job(), &[row(&email)], true));
            prop_assert_eq!((left, raw), (0, email.into_bytes()));
        }
    }
}
