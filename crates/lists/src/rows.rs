//! Reads text as rows of cells: CSV, one address per line, or JSON lines. The only reader of uploads, submissions and the command
//! line.
//!
//! Rows with only blank cells are skipped: spreadsheets end with them. A line that is not a JSON object is still a row, with the
//! line as its only cell, so that nothing is omitted silently.

pub mod absent;
pub mod remarks;
#[cfg(test)]
mod tests;

use std::io::Read;

use crate::column::{Sample, cells, trimmed};
use crate::encoding::{Encoding, SAMPLE_BYTES, Transcoder};
use crate::recipients::recipients;
use crate::remarks::TextRemarks;
use crate::split::{Dialect, Eol, RECORD_MAX, SplitRecord, Splitter};
use crate::{CELL_MAX_BYTES, COLUMNS_MAX, FileFault};

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

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
    pub raw: SplitRecord,
    pub kind: RecordKind,
    /// Texts of its fields; JSON and lines have one, without blanks around it.
    pub cells: Vec<String>,
    /// Whether a part of it was not UTF-8.
    pub foreign: bool,
}

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
        let before = self.head.len();
        self.transcoder.push(piece, last, &mut self.head);
        if self.head.len() == before && !last {
            return;
        }
        let Some(length) = head_length(&self.head, last) else { return };
        let layout = Layout::of(&self.head[..length], self.hint);
        self.splitter = Splitter::of_rows(layout.dialect, layout.sample.separators());
        self.layout = Some(layout);
        *self.splitter.text() = std::mem::take(&mut self.head);
    }

    /// How the text is read; `None` until its beginning was seen.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// The first rows, which nobody needs once the column is chosen; `None` until they were seen.
    pub(crate) fn take_sample(&mut self) -> Option<Sample> {
        let sample = &mut self.layout.as_mut()?.sample;
        Some(std::mem::replace(sample, Sample::of_rows(Vec::new())))
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
    pub fn next_record(&mut self) -> Result<Option<Record>, FileFault> {
        let Some(layout) = &self.layout else { return Ok(None) };
        let Some(raw) = self.splitter.next_record()? else { return Ok(None) };
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
    guessed: bool,
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
        let mut rows =
            Self { from, records, piece: vec![0; READ_BYTES], first_end: None, guessed: false, recipients: Vec::new() };
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

    /// Whether the encoding of the last row is a guess.
    pub fn is_guess(&self) -> bool {
        self.guessed
    }

    /// The next record, blank ones included; `None` after the last.
    ///
    /// # Errors
    /// As for [`TextRecords::next_record`].
    pub fn next_record(&mut self) -> Result<Option<Record>, FileFault> {
        loop {
            match self.records.next_record()? {
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
            self.guessed = record.foreign && self.records.is_guessed();
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
