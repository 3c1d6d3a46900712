//! From the pieces of a body to blocks of rows, on a thread of its own.
//!
//! The first rows decide which column has the addresses and whether there is a header; from then on rows are counted as they
//! pass. Texts are read while they arrive. A workbook goes into a nameless temporary file first, because the directory of an
//! archive is at its end; the system removes the file whatever happens.
//!
//! Cells of a workbook may share one text, so what a file comes to as rows is counted as well as its bytes. The texts that they
//! share are in memory while it is read, so few workbooks are read at a time, whosever they are; the others wait on disk for their
//! turn.

use std::io::{self, Read};
#[cfg(feature = "xlsx")]
use std::time::Duration;

use bytes::Bytes;
use probity_account::block::table::TableFilling;
use probity_lists::column::Sample;
use probity_lists::content::{self, HEAD_BYTES};
use probity_lists::json;
use probity_lists::rows::{Form, TextRows};
use probity_lists::{Bound, Fault};
use probity_store::uploads::{Choice, Content};
#[cfg(feature = "xlsx")]
use tokio::runtime::Handle;
use tokio::sync::mpsc;
#[cfg(feature = "xlsx")]
use tokio::sync::{Semaphore, SemaphorePermit};
#[cfg(feature = "xlsx")]
use tokio::time::timeout;

use crate::uploads::about::{About, Kind};
use crate::uploads::cells::{Row, address, cells};
use crate::uploads::count::{Counter, count_rows};

/// Rows that decide on the column.
const SAMPLE_ROWS: usize = 200;
/// Fewer decide where they are so long together, in bytes: they are in memory.
const SAMPLE_BYTES: usize = 2 << 20;
/// What rows may come to, as a multiple of the largest file. Sheets that people write stay below it: what is compressed best is
/// not their texts.
const EXPANDS_MAX: usize = 8;

/// Workbooks that are read at a time by this process: each may have 85 MiB of texts that its cells share in memory.
#[cfg(feature = "xlsx")]
const WORKBOOKS_MAX: usize = 2;
/// How long a workbook waits for its turn: two large ones before it are read by then.
#[cfg(feature = "xlsx")]
const TURN_MAX: Duration = Duration::from_secs(30);

#[cfg(feature = "xlsx")]
static TURNS: Semaphore = Semaphore::const_new(WORKBOOKS_MAX);

/// A piece of the body, or its end. Where neither comes any more, it broke off.
pub enum Piece {
    Bytes(Bytes),
    End,
}

/// A block of rows, and how many.
pub type Block = (Vec<u8>, i64);

/// What is to be read.
pub struct Wish {
    /// What the file is called.
    pub name: String,
    /// The sheet of a workbook; else the first that has something in it.
    pub sheet: Option<String>,
    pub rows_max: u64,
    /// The largest file, in bytes.
    pub bytes_max: usize,
    /// Whether each line is one address, whatever it looks like.
    pub lines: bool,
}

/// What was read.
pub struct Arrived {
    pub about: About,
    pub rows: i64,
    pub choice: Choice,
    pub content: Option<Content>,
}

/// Why nothing was read.
#[derive(Debug)]
pub enum Unread {
    /// The file's fault.
    File(Fault),
    /// Whoever took the blocks is gone.
    Nobody,
    /// As many workbooks are being read as may be.
    #[cfg(feature = "xlsx")]
    Busy,
}

impl From<Fault> for Unread {
    fn from(fault: Fault) -> Self {
        Self::File(fault)
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::File(Fault::Io(error))
    }
}

/// A turn to read a workbook, as soon as there is one.
#[cfg(feature = "xlsx")]
async fn turn(turns: &Semaphore) -> Result<SemaphorePermit<'_>, Unread> {
    match timeout(TURN_MAX, turns.acquire()).await {
        Ok(Ok(turn)) => Ok(turn),
        Ok(Err(_)) | Err(_) => Err(Unread::Busy),
    }
}

/// Reads a whole body. Blocks; to be called on a thread for that of a runtime, for a workbook waits for its turn by its clock.
pub fn read(mut from: Pieces, wish: Wish, blocks: mpsc::Sender<Block>) -> Result<Arrived, Unread> {
    if wish.lines {
        let mut table = Table::new(wish, blocks);
        table.text(TextRows::lines(from)?)?;
        return table.finish();
    }
    let mut head = Vec::with_capacity(HEAD_BYTES);
    from.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let content = content::of(&head)?;
    let whole = io::Cursor::new(head).chain(from);
    let mut table = Table::new(wish, blocks);
    match content {
        content::Content::Text => table.text(TextRows::open(whole)?)?,
        #[cfg(feature = "xlsx")]
        content::Content::Zip => table.workbook(whole)?,
        #[cfg(not(feature = "xlsx"))]
        content::Content::Zip => return Err(Fault::Workbooks.into()),
    }
    table.finish()
}

/// A file on its way.
struct Table {
    wish: Wish,
    blocks: mpsc::Sender<Block>,
    about: About,
    filling: TableFilling,
    rows: u64,
    /// How long all texts are together.
    bytes: usize,
    /// The first rows, until the column is chosen.
    sample: Vec<Row>,
    choice: Option<Choice>,
    counter: Counter,
    /// Of JSON lines: the first that could not be read, and whether one could.
    unreadable: Option<u64>,
    readable: bool,
}

impl Table {
    fn new(wish: Wish, blocks: mpsc::Sender<Block>) -> Self {
        let about = About::new(wish.name.clone(), Kind::Csv);
        Self {
            wish,
            blocks,
            about,
            filling: TableFilling::default(),
            rows: 0,
            bytes: 0,
            sample: Vec::new(),
            choice: None,
            counter: Counter::default(),
            unreadable: None,
            readable: false,
        }
    }

    fn text(&mut self, mut rows: TextRows<impl Read>) -> Result<(), Unread> {
        self.about.encoding = Some(rows.encoding.word().to_owned());
        self.about.delimiter = rows.delimiter.map(char::from);
        self.about.kind = match rows.form {
            Form::Csv => Kind::Csv,
            Form::Lines => Kind::Txt,
            Form::Json => Kind::Jsonl,
        };
        while let Some(row) = rows.next_row()? {
            self.take(row)?;
        }
        self.about.windows_1252 = rows.has_strange();
        match self.unreadable {
            Some(line) if !self.readable => Err(Fault::NotJson(line).into()),
            _ => Ok(()),
        }
    }

    #[cfg(feature = "xlsx")]
    fn workbook(&mut self, mut from: impl Read) -> Result<(), Unread> {
        use std::io::{Seek as _, SeekFrom};

        use probity_lists::workbook::Workbook;

        let mut file = tempfile::tempfile()?;
        io::copy(&mut from, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let _turn = Handle::current().block_on(turn(&TURNS))?;
        let mut book = Workbook::open(file)?;
        self.about.kind = Kind::Xlsx;
        self.about.sheets = book.sheets().to_vec();
        let wanted = self.wish.sheet.clone().map_or_else(|| self.about.sheets.clone(), |sheet| vec![sheet]);
        for sheet in wanted {
            let mut stopped = None;
            let read = book.read(&sheet, |row| {
                self.take(row).map_err(|unread| match unread {
                    Unread::File(fault) => fault,
                    other => {
                        stopped = Some(other);
                        Fault::Empty
                    }
                })
            });
            if let Some(stopped) = stopped {
                return Err(stopped);
            }
            if read? > 0 {
                self.about.sheet = Some(sheet);
                return Ok(());
            }
        }
        Ok(())
    }

    fn take(&mut self, row: Row) -> Result<(), Unread> {
        if self.rows == self.wish.rows_max {
            return Err(Fault::TooManyRows(self.wish.rows_max).into());
        }
        self.rows += 1;
        self.bytes = self.bytes.saturating_add(row.iter().map(String::len).sum());
        if self.bytes / EXPANDS_MAX > self.wish.bytes_max {
            return Err(Fault::Unpacks(Bound::Expanded).into());
        }
        if self.about.kind == Kind::Jsonl {
            self.fields(&row);
        } else {
            self.about.width = self.about.width.max(row.len());
        }
        self.filling.push(&row).map_err(|_| Fault::RowTooLong(self.rows))?;
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
        if let Some(column) = choice.column.and_then(|column| usize::try_from(column).ok()) {
            self.counter.add(&address(&self.about, &row, column));
        }
        Ok(())
    }

    fn fields(&mut self, row: &Row) {
        match row.first().map(|line| json::members(line)) {
            Some(Ok(members)) => {
                self.readable = true;
                self.about.fields(members.iter().map(|(name, _)| name.as_str()));
            }
            _ => self.unreadable = self.unreadable.or(Some(self.rows)),
        }
    }

    /// The first rows are there, or all there are.
    fn choose(&mut self) {
        let fields = self.about.kind == Kind::Jsonl;
        if self.about.kind == Kind::Txt {
            return self.chosen(Choice { column: Some(0), header: false });
        }
        if !fields {
            self.about.first = self.sample.first().cloned().unwrap_or_default();
        }
        let rows = std::mem::take(&mut self.sample);
        // Rows of cells are looked at where they are; lines are short enough to be taken apart.
        let (sample, lines) = if fields {
            let shown = rows.iter().map(|line| cells(&self.about, line.clone()));
            (std::iter::once(self.about.first.clone()).chain(shown).collect(), rows)
        } else {
            (rows, Vec::new())
        };
        let sample = Sample::of_rows(sample);
        let found = sample.column(None, false).ok();
        self.sample = if fields { lines } else { sample.rows };
        let choice = Choice {
            column: found.and_then(|(column, _)| i64::try_from(column).ok()),
            header: !fields && found.map_or(self.about.width > 1, |(_, header)| header),
        };
        self.chosen(choice);
    }

    fn chosen(&mut self, choice: Choice) {
        let rows = std::mem::take(&mut self.sample);
        count_rows(&mut self.counter, &self.about, &rows, choice);
        self.choice = Some(choice);
    }

    fn hand_over(&mut self) -> Result<(), Unread> {
        let Some((block, rows)) = self.filling.take() else { return Ok(()) };
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        self.blocks.blocking_send((block, rows)).map_err(|_| Unread::Nobody)
    }

    fn finish(mut self) -> Result<Arrived, Unread> {
        if self.rows == 0 {
            return Err(Fault::Empty.into());
        }
        if self.choice.is_none() {
            self.choose();
        }
        self.hand_over()?;
        let choice = self.choice.expect("chosen above");
        let content = choice.column.is_some().then(|| self.counter.finish());
        Ok(Arrived { about: self.about, rows: i64::try_from(self.rows).unwrap_or(i64::MAX), choice, content })
    }
}

/// The pieces of a body as something to read from. Blocks.
pub struct Pieces {
    from: mpsc::Receiver<Piece>,
    piece: Bytes,
    ended: bool,
}

impl Pieces {
    pub fn new(from: mpsc::Receiver<Piece>) -> Self {
        Self { from, piece: Bytes::new(), ended: false }
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.ended {
            match self.from.blocking_recv() {
                Some(Piece::Bytes(piece)) => self.piece = piece,
                Some(Piece::End) => self.ended = true,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let length = out.len().min(self.piece.len());
        out[..length].copy_from_slice(&self.piece.split_to(length));
        Ok(length)
    }
}

#[cfg(all(test, feature = "xlsx"))]
mod tests {
    use probity_engine::clock::Clock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_workbook_waits_for_its_turn_and_not_for_ever() {
        let turns = Semaphore::new(WORKBOOKS_MAX);
        let first = turn(&turns).await.unwrap();
        let _second = turn(&turns).await.unwrap();
        let clock = Clock::system();
        assert!(matches!(turn(&turns).await, Err(Unread::Busy)));
        assert_eq!(clock.elapsed(), TURN_MAX);
        let (third, ()) = tokio::join!(turn(&turns), async {
            tokio::time::sleep(TURN_MAX / 2).await;
            drop(first);
        });
        assert!(third.is_ok(), "what comes free is taken");
    }
}
