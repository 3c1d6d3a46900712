//! Reads text as rows of cells: CSV, one address per line, or JSON lines. The only reader of uploads, submissions and the command
//! line.
//!
//! Rows with only blank cells are skipped: spreadsheets end with them. A line that is not a JSON object is still a row, with the
//! line as its only cell, so that nothing is omitted silently.

use std::io::Read;

use crate::column::{Sample, cells, trimmed};
use crate::encoding::{Encoding, SAMPLE_BYTES, Transcoder};
use crate::recipients::recipients;
use crate::remarks::TextRemarks;
use crate::split::{Dialect, Eol, RECORD_MAX, RawRecord, Splitter};
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

/// What is known of a text before it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextHint {
    pub form: Option<TextForm>,
    /// Separator of CSV.
    pub delimiter: Option<u8>,
    /// Whether a column was requested, so that there are columns.
    pub named: bool,
    /// Whether the text was typed or pasted: each line is meant as one address, or as the recipients of a message.
    pub pasted: bool,
}

/// How a text is read, decided by its beginning.
#[derive(Debug)]
pub struct Layout {
    pub form: TextForm,
    /// CSV only.
    pub dialect: Option<Dialect>,
    /// First rows of CSV.
    pub sample: Sample,
    /// Whether the first line names the separator.
    has_separator_line: bool,
    /// Whether a line may have several recipients.
    is_recipients: bool,
    /// Whether it is one JSON array.
    is_array: bool,
}

impl Layout {
    fn of(head: &[u8], hint: TextHint) -> Self {
        let said = separator_line(head).filter(|_| !hint.pasted && hint.form.is_none_or(|form| form == TextForm::Csv));
        let body = said.map_or(head, |(_, length)| &head[length..]);
        let sample = match hint.delimiter.or(said.map(|(delimiter, _)| delimiter)) {
            Some(delimiter) => Sample::separated(body, delimiter),
            None => Sample::read(body),
        };
        let several = hint.pasted || (hint.form != Some(TextForm::Csv) && !hint.named && sample.is_recipients());
        let form = hint.form.unwrap_or_else(|| match first_byte(body) {
            _ if several => TextForm::Lines,
            Some(b'{' | b'[') => TextForm::Json,
            _ if hint.named || said.is_some() || sample.has_columns() || sample.is_named() => TextForm::Csv,
            _ => TextForm::Lines,
        });
        Self {
            form,
            dialect: (form == TextForm::Csv).then_some(sample.dialect),
            sample,
            has_separator_line: said.is_some(),
            is_recipients: several && form == TextForm::Lines,
            is_array: form == TextForm::Json && first_byte(body) == Some(b'['),
        }
    }
}

/// The first byte that is not blank.
fn first_byte(head: &[u8]) -> Option<u8> {
    head.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// A record of a text.
#[derive(Debug)]
pub struct Record {
    /// Its place; [`TextRecords::bytes`] returns its bytes.
    pub raw: RawRecord,
    pub kind: RecordKind,
    /// Texts of its fields; JSON and lines have one, without blanks around it.
    pub cells: Vec<String>,
    /// Whether a part of it was not UTF-8.
    pub foreign: bool,
}

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    Row,
    /// All cells are blank.
    Blank,
    /// The line that names the separator.
    Separator,
}

/// Reads a text that comes in pieces. How it is cut into pieces never changes the outcome.
pub struct TextRecords {
    hint: TextHint,
    transcoder: Transcoder,
    /// The decoded beginning, until it is long enough.
    head: Vec<u8>,
    layout: Option<Layout>,
    splitter: Splitter,
    ended: bool,
    remarks: TextRemarks,
}

impl TextRecords {
    pub fn new(hint: TextHint) -> Self {
        Self {
            hint,
            transcoder: Transcoder::default(),
            head: Vec::new(),
            layout: None,
            splitter: Splitter::new(None),
            ended: false,
            remarks: TextRemarks::default(),
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.feed(piece, false);
    }

    /// Declares that no piece follows.
    pub fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            self.feed(b"", true);
            self.splitter.end();
        }
    }

    fn feed(&mut self, piece: &[u8], last: bool) {
        if self.layout.is_some() {
            return self.transcoder.push(piece, last, self.splitter.text());
        }
        self.transcoder.push(piece, last, &mut self.head);
        let Some(length) = head_length(&self.head, last) else { return };
        let layout = Layout::of(&self.head[..length], self.hint);
        let dialect = layout.dialect;
        self.layout = Some(layout);
        self.splitter = Splitter::new(dialect);
        *self.splitter.text() = std::mem::take(&mut self.head);
    }

    /// How the text is read; `None` until its beginning was seen.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Encoding, as far as it was read.
    pub fn encoding(&self) -> Encoding {
        self.transcoder.encoding()
    }

    /// Whether the encoding is a guess.
    pub fn is_guessed(&self) -> bool {
        self.transcoder.is_guessed()
    }

    /// What was odd so far.
    pub fn remarks(&self) -> TextRemarks {
        TextRemarks { foreign: self.transcoder.foreign(), ..self.remarks }
    }

    /// Encoding of the lines that were not UTF-8.
    pub fn other_encoding(&self) -> Option<&'static str> {
        self.transcoder.other().map(encoding_rs::Encoding::name)
    }

    /// The next record; `None` if it needs another piece, or after the last.
    ///
    /// # Errors
    /// [`FileFault`]: a quote is never closed, or a record is too long.
    pub fn next(&mut self) -> Result<Option<Record>, FileFault> {
        let Some(layout) = &self.layout else { return Ok(None) };
        let Some(raw) = self.splitter.next()? else { return Ok(None) };
        let bytes = self.splitter.bytes(&raw);
        let cells = match layout.dialect {
            Some(dialect) => cells(bytes, dialect, raw.stray),
            None => vec![String::from_utf8_lossy(bytes.trim_ascii()).into_owned()],
        };
        let kind = match () {
            () if raw.line == 1 && layout.has_separator_line => RecordKind::Separator,
            () if cells.iter().all(|cell| trimmed(cell).is_empty()) => RecordKind::Blank,
            () => RecordKind::Row,
        };
        if raw.stray {
            self.remarks.stray.meet(raw.line);
        }
        if kind == RecordKind::Row && bytes.contains(&0) {
            self.remarks.nuls.meet(raw.line);
        }
        let foreign = self.transcoder.pass(raw.last_line);
        Ok(Some(Record { raw, kind, cells, foreign }))
    }

    /// Bytes of the last record, in UTF-8, without its line end.
    pub fn bytes(&self, record: &Record) -> &[u8] {
        self.splitter.bytes(&record.raw)
    }
}

/// Length of a beginning that tells how to read the text: some rows at least, whatever their length. `None`: it is too short.
fn head_length(head: &[u8], last: bool) -> Option<usize> {
    if last && head.len() <= SAMPLE_BYTES {
        return Some(head.len());
    }
    // At least the header and one row; anything longer is rejected anyway.
    let mut lengths = (1..).map(|n| n * SAMPLE_BYTES).take_while(|length| *length <= head.len());
    let enough = |length: &usize| {
        *length >= 2 * RECORD_MAX || memchr::memchr2_iter(b'\n', b'\r', &head[..*length]).nth(3).is_some()
    };
    lengths.find(enough).or(last.then_some(head.len()))
}

/// A whole text as rows.
pub struct TextRows<R> {
    from: R,
    records: TextRecords,
    piece: Vec<u8>,
    first_end: Option<Eol>,
    /// Rest of a line of several recipients, the last one first.
    recipients: Vec<String>,
}

impl<R: Read> TextRows<R> {
    /// Examines the beginning and decides how to read.
    ///
    /// # Errors
    /// [`FileFault`]: it cannot be read, or is one JSON array.
    pub fn open(from: R, hint: TextHint) -> Result<Self, FileFault> {
        let records = TextRecords::new(hint);
        let mut rows = Self { from, records, piece: vec![0; READ_BYTES], first_end: None, recipients: Vec::new() };
        while rows.records.layout.is_none() {
            rows.read_piece()?;
        }
        if rows.layout().is_array { Err(FileFault::JsonArray) } else { Ok(rows) }
    }

    fn read_piece(&mut self) -> Result<(), FileFault> {
        match self.from.read(&mut self.piece) {
            Ok(0) => self.records.end(),
            Ok(length) => self.records.push(&self.piece[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// How the text is read.
    pub fn layout(&self) -> &Layout {
        self.records.layout.as_ref().expect("decided when it was opened")
    }

    /// The records: encoding and remarks of what was read so far.
    pub fn records(&self) -> &TextRecords {
        &self.records
    }

    /// Whether the first row ended with a line feed alone, as programs outside Windows write them.
    pub fn has_line_feeds(&self) -> bool {
        matches!(self.first_end, Some(Eol::Lf))
    }

    /// The next record, blank ones included; `None` after the last.
    ///
    /// # Errors
    /// As for [`TextRecords::next`].
    pub fn next_record(&mut self) -> Result<Option<Record>, FileFault> {
        loop {
            match self.records.next()? {
                None if !self.records.ended => self.read_piece()?,
                record => return Ok(record),
            }
        }
    }

    /// The recipients in a row that has several, where rows may.
    pub fn recipients(&self, record: &Record) -> Option<Vec<String>> {
        let several = self.layout().is_recipients.then(|| recipients(&record.cells[0]))??;
        Some(several.into_iter().map(str::to_owned).collect())
    }

    /// Cells of the next row; `None` after the last.
    ///
    /// # Errors
    /// [`FileFault`]: a quote is never closed, or something is too long or too wide.
    pub fn next_row(&mut self) -> Result<Option<Vec<String>>, FileFault> {
        if let Some(next) = self.recipients.pop() {
            return Ok(Some(vec![next]));
        }
        while let Some(record) = self.next_record()? {
            self.first_end.get_or_insert(record.raw.end);
            if record.kind != RecordKind::Row {
                continue;
            }
            if let Some(mut several) = self.recipients(&record) {
                check(&several, record.raw.line)?;
                several.reverse();
                self.recipients = several;
                return self.next_row();
            }
            if record.cells.len() > COLUMNS_MAX {
                return Err(FileFault::TooManyColumns(record.raw.line));
            }
            check(&record.cells, record.raw.line)?;
            return Ok(Some(record.cells));
        }
        Ok(None)
    }
}

fn check(cells: &[String], line: u64) -> Result<(), FileFault> {
    let long = cells.iter().any(|cell| cell.len() > CELL_MAX_BYTES);
    if long { Err(FileFault::CellTooLong(line)) } else { Ok(()) }
}

/// The separator that the first line names, and the length of the line.
fn separator_line(head: &[u8]) -> Option<(u8, usize)> {
    let length = memchr::memchr2(b'\n', b'\r', head)?;
    let separator = separator(&head[..length])?;
    Some((separator, length + if head[length..].starts_with(b"\r\n") { 2 } else { 1 }))
}

/// The separator that a line such as `sep=;` names, perhaps in quotes. Spreadsheet programs write and read it as the first one.
pub fn separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line.split_at_checked(4)? {
        (name, [separator]) if name.eq_ignore_ascii_case(b"sep=") => Some(*separator),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PASTED: TextHint = TextHint { pasted: true, form: Some(TextForm::Lines), delimiter: None, named: false };

    fn read(bytes: &[u8]) -> (TextForm, Vec<Vec<String>>) {
        let mut rows = TextRows::open(bytes, TextHint::default()).unwrap();
        let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
        (rows.layout().form, read)
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn forms_are_seen_and_read() {
        type Case = (&'static [u8], TextForm, &'static [&'static [&'static str]]);
        let table: [Case; 15] = [
            (b"email,name\na@x.org,\"A, \"\"B\"\"\"\n", TextForm::Csv, &[&["email", "name"], &["a@x.org", "A, \"B\""]]),
            (b"n;email\n\"two\nlines\";a@x.org\n;\n\n", TextForm::Csv, &[&["n", "email"], &["two\nlines", "a@x.org"]]),
            (b"sep=;\r\nemail;a,b\r\na@x.org;c,d\r\n", TextForm::Csv, &[&["email", "a,b"], &["a@x.org", "c,d"]]),
            (b"a@x.org\n\n  b@x.org \n", TextForm::Lines, &[&["a@x.org"], &["b@x.org"]]),
            (b"email\na@x.org\n", TextForm::Csv, &[&["email"], &["a@x.org"]]),
            (b"{\"email\":\"a@x.org\"}\nno\n", TextForm::Json, &[&["{\"email\":\"a@x.org\"}"], &["no"]]),
            (b"email;ort\na@x.org;K\xf6ln\n", TextForm::Csv, &[&["email", "ort"], &["a@x.org", "Köln"]]),
            (b"email\tn\ra@x.org\t1\r", TextForm::Csv, &[&["email", "n"], &["a@x.org", "1"]]),
            (b"\xef\xbb\xbfemail\na@x.org", TextForm::Csv, &[&["email"], &["a@x.org"]]),
            (b"\"sep=;\"\remail;n\ra@x.org;c,d\n", TextForm::Csv, &[&["email", "n"], &["a@x.org", "c,d"]]),
            (b"sep=\t\nemail\tn\na@x.org\tc\n", TextForm::Csv, &[&["email", "n"], &["a@x.org", "c"]]),
            (b"email,n\na@x.org,b\0\0\n,\0\n", TextForm::Csv, &[&["email", "n"], &["a@x.org", "b\0\0"]]),
            (b"email\n\x1a", TextForm::Csv, &[&["email"]]),
            (
                b"n,email\n\"A,a@x.org\nB,b@x.org\n",
                TextForm::Csv,
                &[&["n", "email"], &["A", "a@x.org"], &["B", "b@x.org"]],
            ),
            // The second byte of a character in Shift_JIS may be a bar, and that of the next one an at sign.
            (
                b"\x8e\x81\x96\xbc|\x83\x81\x81[\x83\x8b\r\n\x83|\x83C\x83\x93\x83g|a@x.org\r\n\x83t\x83@|b@x.org\r\n",
                TextForm::Csv,
                &[&["氏名", "メール"], &["ポイント", "a@x.org"], &["ファ", "b@x.org"]],
            ),
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
        let mut rows = TextRows::open(text.as_bytes(), PASTED).unwrap();
        let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
        assert_eq!(read, [["{\"a\":1}"], ["[x]"], ["a,b"], ["\"open"], ["email"]]);
    }

    #[test]
    fn recipients_are_rows_of_their_own_where_text_was_pasted() {
        let text = "a@x.org, \"B; C\" <b@x.org>;\n\nDoe, Ann <c@x.org>\nd@x.org,nonsense\ne@x.org\n";
        let mut rows = TextRows::open(text.as_bytes(), PASTED).unwrap();
        let found: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
        let expected = ["a@x.org", "\"B; C\" <b@x.org>", "Doe, Ann <c@x.org>", "d@x.org,nonsense", "e@x.org"];
        assert_eq!(found, expected.map(|row| [row]));
        // So they are in a file that has nothing else.
        for text in ["a@x.org; b@x.org; C <c@x.org>", "a@x.org\nb@x.org; c@x.org\n", "a@x.org,b@x.org,\nc@x.org\n"] {
            assert_eq!(
                read(text.as_bytes()).1,
                [["a@x.org"], ["b@x.org"], [if text.contains('C') { "C <c@x.org>" } else { "c@x.org" }]]
            );
        }
        assert_eq!(read(b"a@x.org,b@x.org\nc@x.org,d@x.org\n").1, [["a@x.org", "b@x.org"], ["c@x.org", "d@x.org"]]);
    }

    #[test]
    fn what_cannot_be_rows_is_said_with_its_place() {
        let fault = |bytes: &[u8]| {
            let mut rows = match TextRows::open(bytes, TextHint::default()) {
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

    #[test]
    fn oddities_are_said_with_their_lines() {
        let text = b"n,email\n\"A,a@x.org\nB\0,b@x.org\nC,c@x.org\nJ\xf6rg,d@x.org\n";
        let mut rows = TextRows::open(&text[..], TextHint::default()).unwrap();
        let mut foreign = Vec::new();
        while let Some(record) = rows.next_record().unwrap() {
            foreign.extend(record.foreign.then_some(record.raw.line));
        }
        let odd = |line| crate::remarks::Oddity { count: 1, line };
        assert_eq!(rows.records().remarks(), TextRemarks { foreign: odd(5), nuls: odd(3), stray: odd(2), ..TextRemarks::default() });
        assert_eq!(foreign, [5]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_rows_or_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(mut rows) = TextRows::open(&bytes[..], TextHint::default()) {
                while let Ok(Some(row)) = rows.next_row() {
                    prop_assert!(!row.is_empty() && row.len() <= COLUMNS_MAX);
                }
            }
        }

        #[test]
        fn records_are_the_whole_text(
            text in "([a-z@.,;\"\\\\|\t\r\n\u{e9}]|email|a@x\\.org,|\"b\", ?|,\n){0,60}",
            strange in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut bytes = text.into_bytes();
            for (at, byte) in strange {
                bytes.insert(at.index(bytes.len() + 1), byte);
            }
            let mut decoded = Vec::new();
            crate::encoding::Decoded::open(&bytes[..]).read_to_end(&mut decoded).unwrap();
            for form in [None, Some(TextForm::Csv)] {
                let Ok(mut rows) = TextRows::open(&bytes[..], TextHint { form, ..TextHint::default() }) else { continue };
                let (mut again, mut lines) = (Vec::new(), 0);
                let ended = loop {
                    let Ok(next) = rows.next_record() else { break false };
                    let Some(record) = next else { break true };
                    prop_assert_eq!(record.raw.line, lines + 1);
                    lines = record.raw.last_line;
                    again.extend_from_slice(rows.records().bytes(&record));
                    again.extend_from_slice(record.raw.end.bytes());
                };
                prop_assert!(decoded.starts_with(&again));
                prop_assert!(!ended || again.len() == decoded.len());
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
            let mut read = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
            prop_assume!(read.layout().dialect == Some(Dialect::separated(b',')));
            let all: Vec<Vec<String>> = std::iter::from_fn(|| read.next_row().unwrap()).skip(1).collect();
            let expected: Vec<_> = rows.into_iter().filter(|row| row.iter().any(|cell| !cell.trim().is_empty())).collect();
            prop_assert_eq!(all, expected);
        }
    }
}
