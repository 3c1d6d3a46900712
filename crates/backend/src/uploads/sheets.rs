//! Reads workbooks. They are written to an unnamed temporary file first, because an archive has its directory at the end. The
//! system removes that file in any case.
//!
//! Cells may share one text, so the size of all rows is limited as well as that of the file. Shared texts stay in memory while a
//! workbook is read. Few workbooks are therefore read at a time, for all organizations together, and the others wait on disk.

use std::io::{self, Read, Seek as _, SeekFrom};
use std::time::Duration;

use probity_lists::FileFault;
use probity_lists::column::{TITLES_MAX, titles};
use probity_lists::rows::record::write_record;
use probity_lists::workbook::Workbook;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::uploads::about::FileKind;
use crate::uploads::cells::FileRow;
use crate::uploads::reader::{FileTable, SAMPLE_BYTES, SAMPLE_ROWS, Unread, number};

/// Workbooks that this process reads at a time. Each may have 85 MiB of shared texts in memory.
const WORKBOOKS_MAX: usize = 2;
/// Maximum wait of a workbook for its turn: enough to read two large ones before it.
const TURN_MAX: Duration = Duration::from_secs(30);

static TURNS: Semaphore = Semaphore::const_new(WORKBOOKS_MAX);

/// Waits for a turn to read a workbook.
async fn turn(turns: &Semaphore) -> Result<SemaphorePermit<'_>, Unread> {
    match timeout(TURN_MAX, turns.acquire()).await {
        Ok(Ok(turn)) => Ok(turn),
        Ok(Err(_)) | Err(_) => Err(Unread::Busy),
    }
}

impl FileTable {
    /// Reads the requested sheet, or the first one that has rows.
    pub(super) fn workbook(&mut self, mut from: impl Read) -> Result<(), Unread> {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut from, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let _turn = Handle::current().block_on(turn(&TURNS))?;
        let mut book = Workbook::open(file)?;
        self.about.kind = FileKind::Xlsx;
        self.about.sheets = book.sheets().to_vec();
        let wanted = match self.wish.sheet.clone() {
            Some(sheet) => vec![sheet],
            None => book.by_addresses(SAMPLE_ROWS, SAMPLE_BYTES),
        };
        for sheet in wanted {
            let mut stopped = None;
            self.early = Some(Vec::new());
            let read = book.read(&sheet, |number, row| {
                self.take_of_sheet(number, row).map_err(|unread| match unread {
                    Unread::File(fault) => fault,
                    other => {
                        stopped = Some(other);
                        FileFault::Empty
                    }
                })
            });
            if let Some(stopped) = stopped {
                return Err(stopped);
            }
            if read? > 0 {
                self.take_early()?;
                self.about.remarks.unreadable = book.unreadable();
                self.about.sheet = Some(sheet);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds a row of a sheet. The first ones wait until the titles above the header are known.
    fn take_of_sheet(&mut self, number: u64, row: FileRow) -> Result<(), Unread> {
        let Some(early) = &mut self.early else { return self.take_at(number, row) };
        early.push((number, row));
        let bytes: usize = early.iter().flat_map(|(_, row)| row).map(String::len).sum();
        if early.len() > 2 * TITLES_MAX || bytes >= SAMPLE_BYTES { self.take_early() } else { Ok(()) }
    }

    fn take_early(&mut self) -> Result<(), Unread> {
        let Some(early) = self.early.take() else { return Ok(()) };
        let (numbers, rows): (Vec<u64>, Vec<FileRow>) = early.into_iter().unzip();
        let titles = titles(&rows);
        self.about.above = rows[..titles].iter().map(record).collect();
        numbers.into_iter().zip(rows).skip(titles).try_for_each(|(number, row)| self.take_at(number, row))
    }

    /// Adds a row of a sheet, with its number there.
    fn take_at(&mut self, at: u64, row: FileRow) -> Result<(), Unread> {
        self.about.add_line(number(self.rows), number(at));
        self.take(row)
    }
}

/// Formats a row as a CSV record.
fn record(row: &FileRow) -> String {
    let mut record = Vec::new();
    write_record(row.iter().map(String::as_str), b',', &mut record);
    String::from_utf8_lossy(&record).into_owned()
}

#[cfg(test)]
mod tests {
    use probity_engine::clock::EngineClock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_workbook_waits_for_its_turn_and_not_for_ever() {
        let turns = Semaphore::new(WORKBOOKS_MAX);
        let first = turn(&turns).await.unwrap();
        let _second = turn(&turns).await.unwrap();
        let clock = EngineClock::system();
        assert!(matches!(turn(&turns).await, Err(Unread::Busy)));
        assert_eq!(clock.elapsed(), TURN_MAX);
        let (third, ()) = tokio::join!(turn(&turns), async {
            tokio::time::sleep(TURN_MAX / 2).await;
            drop(first);
        });
        assert!(third.is_ok(), "what comes free is taken");
    }
}
