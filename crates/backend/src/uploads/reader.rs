//! Reads the pieces of a body into blocks of rows, on its own thread.
//!
//! The first rows determine the address column and whether there is a header; further rows are counted as they pass. Text is read
//! while it arrives, a workbook (`sheets`) after it has arrived.

use std::io::{self, Read};

use probity_account::block::table::TableFilling;
use probity_lists::column::Sample;
use probity_lists::content::{self, HEAD_BYTES};
use probity_lists::encoding::TextEncoding;
use probity_lists::json;
use probity_lists::kinds::ColumnKinds;
use probity_lists::rows::{TextForm, TextHint, TextRows};
use probity_lists::split::Eol;
use probity_lists::{FileFault, WorkbookBound};
use probity_store::uploads::{ColumnChoice, ColumnContent};
use tokio::sync::mpsc;

use crate::uploads::about::{FileFacts, FileKind};
use crate::uploads::cells::{FileRow, cells};
use crate::uploads::count::Counter;
use crate::uploads::pieces::BodyPieces;

/// Rows that determine the column.
pub(super) const SAMPLE_ROWS: usize = 200;
/// Size of the rows at which fewer of them determine the column, in bytes, because they are in memory.
pub(super) const SAMPLE_BYTES: usize = 2 << 20;
/// Maximum size of all rows, as a multiple of the largest file. Real sheets stay below it, because text is not their most
/// compressible content.
const EXPANDS_MAX: usize = 8;

/// A block of rows, and their number.
pub type RowBlock = (Vec<u8>, i64);

/// Parameters for reading a file.
pub struct ReadRequest {
    pub name: String,
    /// Sheet of a workbook to read; `None` for the one with the most addresses among its first rows, or else the first one with
    /// content.
    pub sheet: Option<String>,
    pub rows_max: u64,
    /// Maximum size of a file, in bytes.
    pub bytes_max: usize,
    /// Whether each line is one address, regardless of its content.
    pub lines: bool,
    /// Encoding chosen by a user, for a file without a mark that is not UTF-8.
    pub encoding: Option<TextEncoding>,
}

/// Result of reading a file.
pub struct FileArrival {
    pub about: FileFacts,
    pub rows: i64,
    pub choice: ColumnChoice,
    pub content: Option<ColumnContent>,
}

/// Reason why nothing was read.
#[derive(Debug)]
pub enum Unread {
    /// The file cannot be read.
    File(FileFault),
    /// The receiver of the blocks was dropped.
    Nobody,
    /// Too many workbooks are being read.
    #[cfg(feature = "xlsx")]
    Busy,
}

impl From<FileFault> for Unread {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::File(FileFault::Io(error))
    }
}

/// Reads a whole body. Blocks; call it on a thread within a runtime, whose clock limits a workbook's wait for its turn.
pub fn read(mut from: BodyPieces, wish: ReadRequest, blocks: mpsc::Sender<RowBlock>) -> Result<FileArrival, Unread> {
    let hint = TextHint { encoding: wish.encoding, ..TextHint::default() };
    if wish.lines {
        let mut table = FileTable::new(wish, blocks);
        let pasted = TextHint { form: Some(TextForm::Lines), pasted: true, ..hint };
        table.text(TextRows::open(from, pasted)?)?;
        return table.finish();
    }
    let mut head = Vec::with_capacity(HEAD_BYTES);
    from.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let content = content::of(&head)?;
    let whole = io::Cursor::new(head).chain(from);
    let mut table = FileTable::new(wish, blocks);
    match content {
        content::ContentKind::Text => table.text(TextRows::open(whole, hint)?)?,
        #[cfg(feature = "xlsx")]
        content::ContentKind::Zip => table.workbook(whole)?,
        #[cfg(not(feature = "xlsx"))]
        content::ContentKind::Zip => return Err(FileFault::Workbooks.into()),
    }
    table.finish()
}

/// File that is being read.
pub(super) struct FileTable {
    pub(super) wish: ReadRequest,
    blocks: mpsc::Sender<RowBlock>,
    pub(super) about: FileFacts,
    filling: TableFilling,
    pub(super) rows: u64,
    /// Whether the first row is a header or a title.
    titled: bool,
    /// Size of all texts so far, in bytes.
    bytes: usize,
    /// First rows, until the column is chosen.
    sample: Vec<FileRow>,
    /// First rows of a sheet, until titles are separated from them.
    #[cfg(feature = "xlsx")]
    pub(super) early: Option<Vec<(u64, FileRow)>>,
    choice: Option<ColumnChoice>,
    counter: Counter,
    kinds: ColumnKinds,
    /// For JSON lines: the first unreadable line, and whether any line was readable.
    unreadable: Option<u64>,
    readable: bool,
}

impl FileTable {
    fn new(wish: ReadRequest, blocks: mpsc::Sender<RowBlock>) -> Self {
        let about = FileFacts::new(wish.name.clone(), FileKind::Csv);
        Self {
            wish,
            blocks,
            about,
            filling: TableFilling::default(),
            rows: 0,
            titled: false,
            bytes: 0,
            sample: Vec::new(),
            #[cfg(feature = "xlsx")]
            early: None,
            choice: None,
            counter: Counter::default(),
            kinds: ColumnKinds::default(),
            unreadable: None,
            readable: false,
        }
    }

    fn text(&mut self, mut rows: TextRows<impl Read>) -> Result<(), Unread> {
        self.about.delimiter = rows.layout().dialect.map(|dialect| char::from(dialect.delimiter));
        self.about.kind = match rows.layout().form {
            TextForm::Csv => FileKind::Csv,
            TextForm::Lines => FileKind::Txt,
            TextForm::Json => FileKind::Jsonl,
        };
        while let Some(row) = rows.next_row()? {
            let at = number(self.rows);
            self.about.add_line(at, number(rows.line()));
            if rows.is_guess() {
                self.about.add_guess(at);
            }
            if rows.is_foreign() && self.about.foreign_row.is_none() {
                self.about.foreign_row = Some(at);
            }
            self.take(row)?;
        }
        let records = rows.records();
        self.about.guessed = records.is_guessed();
        self.about.encoding = Some(records.encoding().word().into_owned());
        self.about.windows_1252 = records.other_encoding() == Some("windows-1252");
        self.about.wants_mark = Some(records.wants_mark());
        self.about.remarks = records.remarks();
        self.about.line_feeds = rows.first_end() == Some(Eol::Lf);
        self.about.returns = rows.first_end() == Some(Eol::Cr);
        self.about.is_quoted = rows.layout().dialect.is_some() && rows.layout().sample.is_quoted;
        self.about.above = rows.above().to_vec();
        self.about.is_wrapped = rows.layout().dialect.is_some() && rows.layout().sample.is_wrapped;
        self.about.encoding_chosen = self.wish.encoding.is_some();
        match self.unreadable {
            Some(line) if !self.readable => Err(FileFault::NotJson(line).into()),
            _ => Ok(()),
        }
    }

    pub(super) fn take(&mut self, row: FileRow) -> Result<(), Unread> {
        // A first row without an address is a header or a title, and not one of them.
        if self.rows == 0 && self.about.kind != FileKind::Jsonl {
            self.titled = !row.iter().any(|cell| cell.contains('@'));
        }
        if self.rows == self.wish.rows_max.saturating_add(self.titled.into()) {
            return Err(FileFault::TooManyRows(self.wish.rows_max).into());
        }
        self.rows += 1;
        self.bytes = self.bytes.saturating_add(row.iter().map(String::len).sum());
        if self.bytes / EXPANDS_MAX > self.wish.bytes_max {
            return Err(FileFault::Unpacks(WorkbookBound::Expanded).into());
        }
        if self.about.kind == FileKind::Jsonl {
            self.fields(&row);
        } else {
            self.columns(&row);
        }
        self.filling.push(&row).map_err(|_| FileFault::RowTooLong(self.rows))?;
        if self.filling.is_full() {
            self.hand_over()?;
        }
        let Some(choice) = self.choice else {
            self.sample.push(row);
            if self.sample.len() == SAMPLE_ROWS || self.bytes >= SAMPLE_BYTES {
                self.choose();
            }
            return Ok(());
        };
        self.counter.row(&self.about, (number(self.rows) - 1, &row), choice);
        Ok(())
    }

    fn columns(&mut self, row: &FileRow) {
        self.about.width = self.about.width.max(row.len());
        if self.rows > 1 {
            self.kinds.row(row);
        }
        // Used to propose another column if this one has no addresses.
        for (column, cell) in row.iter().enumerate() {
            self.about.count_address(column, cell);
        }
    }

    fn fields(&mut self, row: &FileRow) {
        match row.first().map(|line| json::members(line)) {
            Some(Ok(members)) => {
                self.readable = true;
                self.about.fields(members.iter().map(|(name, _)| name.as_str()));
                for (name, value) in &members {
                    if let Some(column) = self.about.first.iter().position(|known| known == name) {
                        let cell = json::cell(value);
                        self.kinds.cell(column, &cell, value.get().starts_with('"'));
                        self.about.count_address(column, &cell);
                    }
                }
            }
            _ => self.unreadable = self.unreadable.or(Some(self.rows)),
        }
    }

    /// Chooses the column by the first rows.
    fn choose(&mut self) {
        let fields = self.about.kind == FileKind::Jsonl;
        if self.about.kind == FileKind::Txt {
            return self.chosen(ColumnChoice { column: Some(0), header: false });
        }
        if !fields {
            self.about.first = self.sample.first().cloned().unwrap_or_default();
        }
        let rows = std::mem::take(&mut self.sample);
        // Rows of cells are examined in place. Lines are short enough to be split.
        let (sample, lines) = if fields {
            let shown = rows.iter().map(|line| cells(&self.about, line.clone()));
            (std::iter::once(self.about.first.clone()).chain(shown).collect(), rows)
        } else {
            (rows, Vec::new())
        };
        let sample = Sample::of_rows(sample);
        let found = sample.column(None, false).ok();
        self.sample = if fields { lines } else { sample.rows };
        let choice = ColumnChoice {
            column: found.and_then(|(column, _)| i64::try_from(column).ok()),
            header: !fields && found.map_or(self.about.width > 1, |(_, header)| header),
        };
        self.chosen(choice);
    }

    fn chosen(&mut self, choice: ColumnChoice) {
        for (at, row) in (0..).zip(std::mem::take(&mut self.sample)) {
            self.counter.row(&self.about, (at, &row), choice);
        }
        self.choice = Some(choice);
    }

    fn hand_over(&mut self) -> Result<(), Unread> {
        let Some((block, rows)) = self.filling.take() else { return Ok(()) };
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        self.blocks.blocking_send((block, rows)).map_err(|_| Unread::Nobody)
    }

    fn finish(mut self) -> Result<FileArrival, Unread> {
        if self.rows == 0 {
            return Err(FileFault::Empty.into());
        }
        if self.choice.is_none() {
            self.choose();
        }
        self.hand_over()?;
        let choice = self.choice.expect("chosen above");
        let content = choice.column.is_some().then(|| self.counter.finish());
        self.about.kinds = self.kinds.finish();
        Ok(FileArrival { about: self.about, rows: number(self.rows), choice, content })
    }
}

/// Converts a number of rows for storage.
pub(super) fn number(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
