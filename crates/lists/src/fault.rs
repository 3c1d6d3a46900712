//! Why a file is no list that can be read.

use std::io;

use crate::split::{RECORD_MAX, SplitError};
use crate::{Bound, CELL_MAX_BYTES, COLUMNS_MAX};

/// What is wrong with a file. Messages name the place, never what stands there: it may be an address.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nothing but blanks.
    #[error("the file has no rows")]
    Empty,
    /// A workbook of Excel 97 to 2003, or one with a password: both have the same outer form.
    #[error(
        "this is a workbook of Excel 97 to 2003 or one with a password; save it as .xlsx without a password, or as CSV"
    )]
    OldWorkbook,
    /// A workbook, and workbooks are not read here.
    #[error("this is a workbook, which this program was built not to read; save it as CSV")]
    Workbooks,
    /// A zip archive that is no workbook; also an `OpenDocument` spreadsheet.
    #[error("this is an archive or a document, but no .xlsx workbook; save the table as .xlsx or as CSV")]
    Archive,
    /// Compressed in some way.
    #[error("the file is compressed; unpack it first")]
    Compressed,
    /// A PDF.
    #[error("this is a PDF; save the table that it shows as CSV or .xlsx")]
    Pdf,
    /// Neither text nor anything else that is known.
    #[error("this is not text: a list is CSV, a line for each address, JSON lines or an .xlsx workbook")]
    Binary,
    /// One array instead of lines.
    #[error("this is one JSON array; JSON lines are needed, one object a line")]
    JsonArray,
    /// JSON lines of which none could be read.
    #[error("line {0} is no JSON object, nor is any other line")]
    NotJson(u64),
    /// A quote without its end.
    #[error("the quote that is opened in line {0} is never closed")]
    OpenQuote(u64),
    /// A record that does not end.
    #[error("line {0} is too long, or a quote that is opened there is never closed")]
    RecordTooLong(u64),
    /// A row with too many cells.
    #[error("row {0} has more than {COLUMNS_MAX} columns")]
    TooManyColumns(u64),
    /// A cell that is too long.
    #[error("row {0} has a cell of more than {CELL_MAX_BYTES} bytes")]
    CellTooLong(u64),
    /// A row whose cells are too long together.
    #[error("row {0} has more than {RECORD_MAX} bytes of text")]
    RowTooLong(u64),
    /// More rows than are read.
    #[error("the file has more than {0} rows; split it")]
    TooManyRows(u64),
    /// A workbook with more of something than is read.
    #[error("the workbook has {0}; save the table as CSV")]
    Unpacks(Bound),
    /// A workbook with something in it that no spreadsheet program writes.
    #[error("the workbook is damaged or was not written by a spreadsheet program")]
    Damaged,
    /// A sheet that is not there, or a workbook without one that can be seen.
    #[error("the workbook has no such sheet that can be seen")]
    NoSheet,
    /// The file could not be read to its end.
    #[error("the file could not be read")]
    Io(#[from] io::Error),
}

impl Fault {
    /// A word for programs, which stays when the message changes.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::OldWorkbook => "old_workbook",
            Self::Workbooks => "workbooks",
            Self::Archive => "archive",
            Self::Compressed => "compressed",
            Self::Pdf => "pdf",
            Self::Binary => "binary",
            Self::JsonArray => "json_array",
            Self::NotJson(_) => "not_json",
            Self::OpenQuote(_) => "open_quote",
            Self::RecordTooLong(_) => "record_too_long",
            Self::TooManyColumns(_) => "too_many_columns",
            Self::CellTooLong(_) => "cell_too_long",
            Self::RowTooLong(_) => "row_too_long",
            Self::TooManyRows(_) => "too_many_rows",
            Self::Unpacks(_) => "unpacks",
            Self::Damaged => "damaged",
            Self::NoSheet => "no_sheet",
            Self::Io(_) => "unreadable",
        }
    }

    /// The number that the message has: the line or the row, counted from 1, where the fault is, or how many rows there may be.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::NotJson(n)
            | Self::OpenQuote(n)
            | Self::RecordTooLong(n)
            | Self::TooManyColumns(n)
            | Self::CellTooLong(n)
            | Self::RowTooLong(n)
            | Self::TooManyRows(n) => Some(*n),
            Self::Empty
            | Self::OldWorkbook
            | Self::Workbooks
            | Self::Archive
            | Self::Compressed
            | Self::Pdf
            | Self::Binary
            | Self::JsonArray
            | Self::Unpacks(_)
            | Self::Damaged
            | Self::NoSheet
            | Self::Io(_) => None,
        }
    }
}

impl From<SplitError> for Fault {
    fn from(error: SplitError) -> Self {
        match error {
            SplitError::TooLong(line) => Self::RecordTooLong(line),
            SplitError::OpenQuote(line) => Self::OpenQuote(line),
            SplitError::Io(error) => Self::Io(error),
        }
    }
}
