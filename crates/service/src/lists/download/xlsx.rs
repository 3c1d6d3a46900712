//! Downloads as workbooks, written by [`book`].
//!
//! Blocking threads write while the request waits; if the client disconnects, writing stops with the next part. A request waits
//! only briefly for a slot, because it has a deadline and the workbook needs its time.

pub mod book;
mod results;
mod summary;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use probity_backend::uploads::places::{Places, UploadSlot};
use probity_contract::error::ApiError;
use probity_store::OrgNo;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;

use self::book::{ResultsBook, RowFigure, SHEET_ROWS_MAX, WorkbookError};
pub(super) use self::summary::RowSummary;
use crate::lists::download::columns::{FileColumns, OriginalRow};

/// Number of attempts to get a slot; with the pause between them, 5 s in total.
const TRIES_MAX: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);
/// Parts read ahead of the writer.
const AHEAD: usize = 2;
/// Size of a part of the response, in bytes.
const PART_BYTES: usize = 64 << 10;

/// Message from the reader of rows to the writer of the workbook.
enum SheetPart {
    Rows(Vec<OriginalRow>),
    End,
}

/// Workbook ready to send, with its size.
pub(super) struct PackedWorkbook {
    file: tokio::fs::File,
    pub(super) bytes: u64,
}

impl PackedWorkbook {
    /// Returns its bytes, from the beginning.
    pub(super) fn parts(self) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
        stream::try_unfold(self.file, async |mut file| {
            let mut part = Vec::with_capacity(PART_BYTES);
            file.read_buf(&mut part).await?;
            Ok((!part.is_empty()).then(|| (Bytes::from(part), file)))
        })
    }
}

/// Source of rows: parts in order, then `None`.
pub(super) trait RowParts {
    /// Returns the organization that owns the rows.
    fn org(&self) -> OrgNo;
    /// Returns the columns of the rows.
    fn columns(&self) -> Arc<FileColumns>;
    /// Returns the sheet of the figures, without any row yet.
    fn summary(&self) -> RowSummary;
    async fn next(&mut self) -> Result<Option<Vec<OriginalRow>>, ApiError>;
}

/// Refuses a file with more rows than a sheet can have.
pub(super) fn check(rows: i64) -> Result<(), ApiError> {
    if u64::try_from(rows).is_ok_and(|rows| rows < SHEET_ROWS_MAX) {
        return Ok(());
    }
    Err(ApiError::invalid("format", format_args!("a workbook can have at most {} rows; use csv", SHEET_ROWS_MAX - 1)))
}

/// Returns a slot for a workbook of an organization; 503 if none becomes available within 5 s.
async fn place(places: &Places, org: OrgNo) -> Result<UploadSlot, ApiError> {
    for _ in 1..TRIES_MAX {
        if let Ok(place) = places.take(org) {
            return Ok(place);
        }
        tokio::time::sleep(PAUSE).await;
    }
    places.take(org)
}

/// Writes the workbook of all rows, if there is a slot for it.
pub(super) async fn pack(places: &Places, mut rows: impl RowParts) -> Result<PackedWorkbook, ApiError> {
    let place = place(places, rows.org()).await?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let (columns, summary) = (rows.columns(), rows.summary());
    let writing = tokio::task::spawn_blocking(move || {
        let _place = place;
        write(&columns, summary, receiver)
    });
    while let Some(part) = rows.next().await? {
        // The writer has ended; its result, read below, tells why.
        if sender.send(SheetPart::Rows(part)).await.is_err() {
            break;
        }
    }
    let _ = sender.send(SheetPart::End).await;
    let file = writing.await.map_err(ApiError::server_error)?.map_err(ApiError::server_error)?;
    let bytes = file.metadata().map_err(ApiError::server_error)?.len();
    Ok(PackedWorkbook { file: tokio::fs::File::from_std(file), bytes })
}

/// Writes the whole workbook.
fn write(
    columns: &FileColumns,
    summary: RowSummary,
    mut parts: mpsc::Receiver<SheetPart>,
) -> Result<File, WorkbookError> {
    let above: Vec<_> = columns.above().iter().map(|record| columns.cells_above(record)).collect();
    let above: Vec<_> = above.into_iter().filter(|cells| !cells.is_empty()).collect();
    let mut book = ResultsBook::begin(&above, &columns.header(), summary)?;
    loop {
        match parts.blocking_recv() {
            Some(SheetPart::Rows(rows)) => {
                for row in &rows {
                    book.row(&columns.values(row), RowFigure::of(&row.row))?;
                }
            }
            Some(SheetPart::End) => return book.finish(),
            None => return Err(WorkbookError::Unfinished),
        }
    }
}

#[cfg(test)]
mod tests;
