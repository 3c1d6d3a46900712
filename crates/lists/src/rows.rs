//! Reads text as rows of cells: CSV, one address per line, or JSON lines. The only reader of uploads, submissions and the command
//! line.
//!
//! Rows with only blank cells are skipped: spreadsheets end with them. A line that is not a JSON object is still a row, with the
//! line as its only cell, so that nothing is omitted silently.

pub mod absent;
mod layout;
pub mod record;
pub mod remarks;
#[cfg(test)]
mod tests;

use std::io::Read;

use self::absent::cleaned;
use self::layout::head_length;
use crate::column::{Sample, cells, is_address, trimmed};
use crate::encoding::{Encoding, Transcoder};
use crate::recipients::recipients;
use crate::remarks::{Oddity, TextRemarks};
use crate::split::{Eol, SplitRecord, Splitter};
use crate::{CELL_MAX_BYTES, COLUMNS_MAX, FileFault};

pub use self::layout::{Layout, TextForm, TextHint, separator};

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;
/// Size of what is kept above a header: ten titles and blank lines.
const ABOVE_BYTES: usize = 64 << 10;

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
    /// Above the header: the line that names the separator, a title, or a blank line behind one.
    Above,
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
    /// Titles that are still to come, and whether the header is.
    titles: usize,
    is_above: bool,
    /// Blank rows since the last row that is not.
    blank: Oddity,
}

impl TextRecords {
    pub fn new(hint: TextHint) -> Self {
        Self {
            hint,
            transcoder: Transcoder::reading(hint.encoding),
            head: Vec::new(),
            layout: None,
            splitter: Splitter::new(None),
            ended: false,
            remarks: TextRemarks::default(),
            titles: 0,
            is_above: false,
            blank: Oddity::default(),
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
        self.titles = if layout.form == TextForm::Csv { layout.sample.titles } else { 0 };
        self.is_above = self.titles > 0;
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
        let rows = std::mem::take(&mut sample.rows);
        Some(Sample { dialect: sample.dialect, ..Sample::of_rows(rows) })
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

    /// Whether a text that is made of this one needs a byte order mark: the programs that wrote it would take UTF-8 for another
    /// encoding. A text that is not all UTF-8 comes from such a program.
    pub fn wants_mark(&self) -> bool {
        self.encoding().wants_bom() || self.transcoder.other().is_some()
    }

    /// The next record; `None` if it needs another piece, or after the last.
    ///
    /// # Errors
    /// [`FileFault`]: a quote is never closed, a record is too long, or whole rows are in quotes.
    pub fn next_record(&mut self) -> Result<Option<Record>, FileFault> {
        let Some(layout) = &self.layout else { return Ok(None) };
        if layout.form == TextForm::Csv && layout.sample.is_uneven {
            return Err(FileFault::WrappedRows);
        }
        let Some(raw) = self.splitter.next_record()? else { return Ok(None) };
        let bytes = self.splitter.bytes(&raw);
        let cells = match layout.dialect {
            Some(dialect) if layout.sample.is_wrapped => {
                let outer = cells(bytes, dialect, raw.stray);
                if let [whole] = &outer[..] { cells(whole.as_bytes(), dialect, false) } else { outer }
            }
            Some(dialect) => cells(bytes, dialect, raw.stray),
            None => vec![String::from_utf8_lossy(bytes.trim_ascii()).into_owned()],
        };
        let kind = self.kind(raw.line, &cells);
        if raw.stray {
            self.remarks.stray.meet(raw.line);
        }
        if raw.spans_addresses {
            self.remarks.spanned.meet(raw.line);
        }
        if kind == RecordKind::Row && self.splitter.bytes(&raw).contains(&0) {
            self.remarks.nuls.meet(raw.line);
        }
        if kind == RecordKind::Row && cells.iter().any(|cell| has_hidden(cell)) {
            self.remarks.hidden.meet(raw.line);
        }
        let foreign = self.transcoder.pass(raw.last_line);
        Ok(Some(Record { raw, kind, cells, foreign }))
    }

    /// Kind of the next record, which begins in this line.
    fn kind(&mut self, line: u64, cells: &[String]) -> RecordKind {
        let is_separator = line == 1 && self.layout.as_ref().is_some_and(|layout| layout.has_separator_line);
        let is_blank = cells.iter().all(|cell| trimmed(cell).is_empty());
        if is_separator || (is_blank && self.is_above) {
            return RecordKind::Above;
        }
        if is_blank {
            self.blank.meet(line);
            return RecordKind::Blank;
        }
        if self.titles > 0 && !cells.iter().any(|cell| is_address(cell)) {
            self.titles -= 1;
            return RecordKind::Above;
        }
        (self.titles, self.is_above) = (0, false);
        self.remarks.blank.join(std::mem::take(&mut self.blank));
        RecordKind::Row
    }

    /// The recipients in a row that has several, where rows may.
    pub fn recipients(&self, record: &Record) -> Option<Vec<String>> {
        let is_recipients = self.layout.as_ref().is_some_and(|layout| layout.is_recipients);
        let several = is_recipients.then(|| recipients(&record.cells[0]))??;
        Some(several.into_iter().map(|one| cleaned(one).unwrap_or(one).to_owned()).collect())
    }

    /// Bytes of the last record, in UTF-8, without its line end.
    pub fn bytes(&self, record: &Record) -> &[u8] {
        self.splitter.bytes(&record.raw)
    }
}

/// A whole text as rows.
pub struct TextRows<R> {
    from: R,
    records: TextRecords,
    piece: Vec<u8>,
    first_end: Option<Eol>,
    /// Records above the header.
    above: Vec<String>,
    /// Their size, with an end for each.
    above_bytes: usize,
    /// First line of the last row.
    line: u64,
    guessed: bool,
    foreign: bool,
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
        let mut rows = Self {
            from,
            records,
            piece: vec![0; READ_BYTES],
            first_end: None,
            above: Vec::new(),
            above_bytes: 0,
            line: 0,
            guessed: false,
            foreign: false,
            recipients: Vec::new(),
        };
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

    /// How the first row ended.
    pub fn first_end(&self) -> Option<Eol> {
        self.first_end
    }

    /// Records above the header, without their ends.
    pub fn above(&self) -> &[String] {
        &self.above
    }

    /// First line of the last row.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether the encoding of the last row is a guess.
    pub fn is_guess(&self) -> bool {
        self.guessed
    }

    /// Whether a part of the last row was not UTF-8.
    pub fn is_foreign(&self) -> bool {
        self.foreign
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

    fn keep_above(&mut self, record: &Record) {
        let bytes = self.records.bytes(record);
        let kept = self.above_bytes + bytes.len() + 1;
        if kept <= ABOVE_BYTES {
            self.above.push(String::from_utf8_lossy(bytes).into_owned());
            self.above_bytes = kept;
        }
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
            if record.kind == RecordKind::Above {
                self.keep_above(&record);
            }
            if record.kind != RecordKind::Row {
                continue;
            }
            self.line = record.raw.line;
            self.foreign = record.foreign;
            self.guessed = record.foreign && self.records.is_guessed();
            if let Some(mut several) = self.records.recipients(&record) {
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

/// Whether a cell with an address has characters that nobody sees at its ends.
fn has_hidden(cell: &str) -> bool {
    let shown = cell.trim_ascii();
    !shown.is_ascii() && shown.contains('@') && probity_mail::address::trimmed(shown).len() < shown.len()
}

fn check(cells: &[String], line: u64) -> Result<(), FileFault> {
    let long = cells.iter().any(|cell| cell.len() > CELL_MAX_BYTES);
    if long { Err(FileFault::CellTooLong(line)) } else { Ok(()) }
}
