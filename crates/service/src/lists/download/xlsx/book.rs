//! The only writer of workbooks (Office Open XML): a sheet of rows, and one of their figures. No cell is a formula.
//!
//! A string cell is displayed unchanged, so it needs no prefix. Rows are written to disk as they arrive and packed from there, so
//! memory does not grow with the list. Both files are unnamed temporary files, which the system removes even if the process is
//! killed.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};

use probity_contract::published::jobs::batch::{BatchRow, RowDone};
use rust_xlsxwriter::{Workbook, XlsxError};
use thiserror::Error;

use super::results::ResultsSheet;
pub use super::summary::RowSummary;
use crate::lists::download::values::CellValue;

/// Maximum rows of a sheet, header included.
pub const SHEET_ROWS_MAX: u64 = 1 << 20;
/// Maximum columns of a sheet.
pub const SHEET_COLUMNS_MAX: usize = 1 << 14;

/// Reason why a workbook was not written.
#[derive(Debug, Error)]
pub enum WorkbookError {
    #[error("a workbook was not written")]
    Writing(#[from] XlsxError),
    #[error("a temporary file failed")]
    File(#[from] std::io::Error),
    /// Download canceled.
    #[error("the rows ended early")]
    Unfinished,
}

/// Counted property of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFigure {
    /// Nothing: the file's row has no address.
    WithoutAddress,
    /// A row without a verdict.
    Pending,
    /// Its status and its reason.
    Verdict(&'static str, &'static str),
}

impl RowFigure {
    pub(super) fn of(row: &BatchRow) -> Self {
        match row.done.as_ref().map(RowDone::outcome) {
            _ if row.head.index.is_none() => Self::WithoutAddress,
            None => Self::Pending,
            Some(outcome) => Self::Verdict(outcome.status, outcome.reason),
        }
    }
}

/// A workbook that is being written.
pub struct ResultsBook {
    book: Workbook,
    sheet: ResultsSheet,
    summary: RowSummary,
}

impl ResultsBook {
    /// Starts a workbook: the rows above the header, and the header.
    ///
    /// # Errors
    /// As for [`Self::row`].
    pub fn begin(above: &[Vec<String>], header: &[String], summary: RowSummary) -> Result<Self, WorkbookError> {
        let mut book = Workbook::new();
        book.set_tempdir(tempfile::env::temp_dir())?;
        let sheet = ResultsSheet::begin(book.new_worksheet_with_constant_memory()?, above, header)?;
        Ok(Self { book, sheet, summary })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`WorkbookError`]: a temporary file cannot be written, or the sheet is full.
    pub fn row(&mut self, values: &[CellValue<'_>], figure: RowFigure) -> Result<(), WorkbookError> {
        self.summary.count(figure);
        Ok(self.sheet.row(values)?)
    }

    /// Writes the workbook to a temporary file, and rewinds it.
    ///
    /// # Errors
    /// As for [`Self::row`].
    pub fn finish(self) -> Result<File, WorkbookError> {
        let Self { mut book, sheet, summary } = self;
        book.push_worksheet(sheet.finish()?);
        summary.write(&mut book)?;
        let mut file = tempfile::tempfile()?;
        book.save_to_writer(&mut file)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}
