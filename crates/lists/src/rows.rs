//! Reads text as rows of cells: CSV, one address per line, or JSON lines.
//!
//! Rows with only blank cells are skipped: spreadsheets end with them. A line that is not a JSON object is still a row, with the
//! line as its only cell, so that nothing is omitted silently.

use std::borrow::Cow;
use std::io::{self, BufReader, Read};

use crate::column::Sample;
use crate::encoding::{self, Decoded, Encoding};
use crate::recipients::recipients;
use crate::split::{Eol, Splitter, fields, unquote};
use crate::{CELL_MAX_BYTES, COLUMNS_MAX, FileFault};

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// Form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    Csv,
    Lines,
    /// One JSON object per line: rows have one cell, the line.
    Json,
}

/// Guesses the form of a text from its decoded beginning. `named`: a column was requested, so there are columns.
pub fn guess(head: &[u8], sample: &Sample, named: bool) -> TextForm {
    match first_byte(head) {
        Some(b'{' | b'[') => TextForm::Json,
        _ if named || sample.has_columns() || sample.is_named() => TextForm::Csv,
        _ => TextForm::Lines,
    }
}

/// The first byte that is not blank.
pub fn first_byte(head: &[u8]) -> Option<u8> {
    head.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// The byte that ends lines: old Macintosh programs use a single carriage return.
pub fn line_end(head: &[u8]) -> u8 {
    if head.contains(&b'\r') && !head.contains(&b'\n') { b'\r' } else { b'\n' }
}

type Source<R> = io::Chain<io::Cursor<Vec<u8>>, BufReader<Decoded<R>>>;

pub struct TextRows<R> {
    /// Detected encoding.
    pub encoding: Encoding,
    /// Detected form.
    pub form: TextForm,
    /// Separator of columns; CSV only.
    pub delimiter: Option<u8>,
    splitter: Splitter<Source<R>>,
    record: Vec<u8>,
    strange: bool,
    first_end: Option<Eol>,
    /// Rest of a line of several recipients, the last one first; `None` where a line is one row in any case.
    recipients: Option<Vec<String>>,
}

impl<R: Read> TextRows<R> {
    /// Examines the beginning and decides how to read.
    ///
    /// # Errors
    /// [`FileFault`]: it cannot be read, or is one JSON array.
    pub fn open(from: R) -> Result<Self, FileFault> {
        let decoded = Decoded::open(from)?;
        let encoding = decoded.encoding;
        let mut from = BufReader::with_capacity(READ_BYTES, decoded);
        let mut head = encoding::head(&mut from)?;
        let end = line_end(&head);
        let said = separator_line(&head, end);
        if let Some((_, length)) = said {
            head.drain(..length);
        }
        let sample = Sample::read(&head, end);
        let form = guess(&head, &sample, said.is_some());
        if form == TextForm::Json && first_byte(&head) == Some(b'[') {
            return Err(FileFault::JsonArray);
        }
        let delimiter = (form == TextForm::Csv).then(|| said.map_or(sample.delimiter, |(delimiter, _)| delimiter));
        let splitter = Splitter::new(io::Cursor::new(head).chain(from), delimiter, end);
        Ok(Self {
            encoding,
            form,
            delimiter,
            splitter,
            record: Vec::new(),
            strange: false,
            first_end: None,
            recipients: None,
        })
    }

    /// Reads lines, whatever they look like: each line of typed or pasted text is meant as one address, or as the recipients of
    /// a message ([`recipients`]).
    ///
    /// # Errors
    /// [`FileFault`]: it cannot be read.
    pub fn lines(from: R) -> Result<Self, FileFault> {
        let decoded = Decoded::open(from)?;
        let encoding = decoded.encoding;
        let from = BufReader::with_capacity(READ_BYTES, decoded);
        let splitter = Splitter::new(io::Cursor::new(Vec::new()).chain(from), None, b'\n');
        Ok(Self {
            encoding,
            form: TextForm::Lines,
            delimiter: None,
            splitter,
            record: Vec::new(),
            strange: false,
            first_end: None,
            recipients: Some(Vec::new()),
        })
    }

    /// Whether a record so far was invalid UTF-8 and read as Windows-1252.
    pub fn has_strange(&self) -> bool {
        self.strange
    }

    /// Whether the first row ended with a line feed alone, as programs outside Windows write them.
    pub fn has_line_feeds(&self) -> bool {
        matches!(self.first_end, Some(Eol::Lf))
    }

    /// Cells of the next row; `None` after the last.
    ///
    /// # Errors
    /// [`FileFault`]: a quote is never closed, or something is too long or too wide.
    pub fn next_row(&mut self) -> Result<Option<Vec<String>>, FileFault> {
        if let Some(next) = self.recipients.as_mut().and_then(Vec::pop) {
            return Ok(Some(vec![next]));
        }
        while let Some((end, line)) = self.splitter.next(&mut self.record)? {
            self.first_end.get_or_insert(end);
            let (text, strange) = encoding::text(&self.record);
            self.strange |= strange;
            let cells = match self.delimiter {
                Some(delimiter) => cells(&text, delimiter, line)?,
                None => vec![text.trim_matches(|c: char| c.is_ascii_whitespace()).to_owned()],
            };
            if let Some(waiting) = &mut self.recipients
                && let Some(several) = recipients(&cells[0])
            {
                waiting.extend(several.into_iter().rev().map(str::to_owned));
                check(waiting, line)?;
                return self.next_row();
            }
            if cells.iter().any(|cell| !cell.trim().is_empty()) {
                check(&cells, line)?;
                return Ok(Some(cells));
            }
        }
        Ok(None)
    }
}

fn cells(record: &str, delimiter: u8, line: u64) -> Result<Vec<String>, FileFault> {
    let raw = fields(record.as_bytes(), delimiter);
    let mut cells = Vec::new();
    for field in raw {
        if cells.len() == COLUMNS_MAX {
            return Err(FileFault::TooManyColumns(line));
        }
        // Quotes and separators are ASCII, so the text between them is UTF-8 if the record is.
        cells.push(match unquote(field) {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Cow::Owned(bytes) => String::from_utf8(bytes).unwrap_or_default(),
        });
    }
    Ok(cells)
}

fn check(cells: &[String], line: u64) -> Result<(), FileFault> {
    let long = cells.iter().any(|cell| cell.len() > CELL_MAX_BYTES);
    if long { Err(FileFault::CellTooLong(line)) } else { Ok(()) }
}

/// `sep=;` on the first line, which spreadsheet programs write and read: returns the separator and the length of the line.
fn separator_line(head: &[u8], end: u8) -> Option<(u8, usize)> {
    let length = memchr::memchr(end, head)? + 1;
    let line = head[..length].trim_ascii();
    let rest = line.get(..4).filter(|start| start.eq_ignore_ascii_case(b"sep=")).and(line.get(4..))?;
    // A tab is a blank, so a tab separator ends the line.
    match rest {
        [separator] => Some((*separator, length)),
        [] if head[..length].contains(&b'\t') => Some((b'\t', length)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> (TextForm, Vec<Vec<String>>) {
        let mut rows = TextRows::open(bytes).unwrap();
        let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
        (rows.form, read)
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn forms_are_seen_and_read() {
        type Case = (&'static [u8], TextForm, &'static [&'static [&'static str]]);
        let table: [Case; 9] = [
            (b"email,name\na@x.org,\"A, \"\"B\"\"\"\n", TextForm::Csv, &[&["email", "name"], &["a@x.org", "A, \"B\""]]),
            (b"n;email\n\"two\nlines\";a@x.org\n;\n\n", TextForm::Csv, &[&["n", "email"], &["two\nlines", "a@x.org"]]),
            (b"sep=;\r\nemail;a,b\r\na@x.org;c,d\r\n", TextForm::Csv, &[&["email", "a,b"], &["a@x.org", "c,d"]]),
            (b"a@x.org\n\n  b@x.org \n", TextForm::Lines, &[&["a@x.org"], &["b@x.org"]]),
            (b"email\na@x.org\n", TextForm::Csv, &[&["email"], &["a@x.org"]]),
            (b"{\"email\":\"a@x.org\"}\nno\n", TextForm::Json, &[&["{\"email\":\"a@x.org\"}"], &["no"]]),
            (b"email;ort\na@x.org;K\xf6ln\n", TextForm::Csv, &[&["email", "ort"], &["a@x.org", "Köln"]]),
            (b"email\tn\ra@x.org\t1\r", TextForm::Csv, &[&["email", "n"], &["a@x.org", "1"]]),
            (b"\xef\xbb\xbfemail\na@x.org", TextForm::Csv, &[&["email"], &["a@x.org"]]),
        ];
        for (bytes, form, rows) in table {
            assert_eq!(
                read(bytes),
                (form, rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect())
            );
        }
        assert_eq!(read(&wide("email;n\r\nj\u{f6}@x.org;1\r\n")).1, [["email", "n"], ["jö@x.org", "1"]]);
    }

    #[test]
    fn what_was_pasted_is_lines_whatever_it_looks_like() {
        let text = "{\"a\":1}\n[x]\na,b\n\"open\nemail\n";
        let mut rows = TextRows::lines(text.as_bytes()).unwrap();
        let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
        assert_eq!(read, [["{\"a\":1}"], ["[x]"], ["a,b"], ["\"open"], ["email"]]);
    }

    #[test]
    fn recipients_are_rows_of_their_own_where_text_was_pasted() {
        let text = "a@x.org, \"B; C\" <b@x.org>;\n\nDoe, Ann <c@x.org>\nd@x.org,nonsense\ne@x.org\n";
        let mut rows = TextRows::lines(text.as_bytes()).unwrap();
        let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
        let expected = ["a@x.org", "\"B; C\" <b@x.org>", "Doe, Ann <c@x.org>", "d@x.org,nonsense", "e@x.org"];
        assert_eq!(read, expected.map(|row| [row]));
        // A file of lines keeps its lines.
        let mut rows = TextRows::open(&b"a@x.org\nb@x.org; c@x.org\nd@x.org\n"[..]).unwrap();
        assert_eq!(std::iter::from_fn(|| rows.next_row().unwrap()).count(), 3);
    }

    #[test]
    fn what_cannot_be_rows_is_said_with_its_place() {
        let fault = |bytes: &[u8]| {
            let mut rows = match TextRows::open(bytes) {
                Ok(rows) => rows,
                Err(fault) => return fault.to_string(),
            };
            loop {
                match rows.next_row() {
                    Ok(Some(_)) => {}
                    Ok(None) => return String::new(),
                    Err(fault) => return fault.to_string(),
                }
            }
        };
        assert_eq!(fault(b"a,b\nc,\"d\n"), "the quote opened in line 2 is never closed");
        let wide = ["a,".repeat(COLUMNS_MAX), "b\n".into()].concat();
        assert_eq!(fault(wide.as_bytes()), format!("row 1 has more than {COLUMNS_MAX} columns"));
        let long = ["email,n\na@x.org,".to_owned(), "x".repeat(CELL_MAX_BYTES + 1)].concat();
        assert_eq!(fault(long.as_bytes()), format!("row 2 has a cell of more than {CELL_MAX_BYTES} bytes"));
        assert!(fault(&vec![b'x'; 2 << 20]).starts_with("line 1 is too long"));
        assert_eq!(fault(b" [{\"email\":1}]"), FileFault::JsonArray.to_string());
    }

    proptest! {
        #[test]
        fn any_bytes_are_rows_or_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(mut rows) = TextRows::open(&bytes[..]) {
                while let Ok(Some(row)) = rows.next_row() {
                    prop_assert!(!row.is_empty() && row.len() <= COLUMNS_MAX);
                }
            }
        }

        #[test]
        fn cells_come_back_as_they_were_written(
            rows in prop::collection::vec(prop::collection::vec("[a-z@.,;\"\n\r ü]{0,12}", 3..4), 1..20),
        ) {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = ["\"email\",\"b\",\"c\"".to_owned()].into_iter().chain(rows.iter().map(line)).collect::<Vec<_>>();
            let text = text.join("\n") + "\n";
            let mut read = TextRows::open(text.as_bytes()).unwrap();
            prop_assume!(read.delimiter == Some(b','));
            let all: Vec<Vec<String>> = std::iter::from_fn(|| read.next_row().unwrap()).skip(1).collect();
            let expected: Vec<_> = rows.into_iter().filter(|row| row.iter().any(|cell| !cell.trim().is_empty())).collect();
            prop_assert_eq!(all, expected);
        }
    }
}
