//! Reasons why a file cannot be read as a list.

use std::io;

use crate::split::RECORD_MAX;
use crate::{CELL_MAX_BYTES, COLUMNS_MAX, WorkbookBound};

/// Error of a file. Messages name the place, never its content: it may be an address.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// Only blank content.
    #[error("the file has no rows")]
    Empty,
    /// A workbook of Excel 97 to 2003, or one with a password: both have the same outer form.
    #[error(
        "this workbook is from Excel 97 to 2003, or has a password; save it as .xlsx without a password, or as CSV"
    )]
    OldWorkbook,
    /// A workbook, where workbooks are not supported.
    #[error("this is a workbook, which this build cannot read; save it as CSV")]
    Workbooks,
    /// A zip archive that is not a workbook; also an `OpenDocument` spreadsheet.
    #[error("this is an archive or a document, not an .xlsx workbook; save the table as .xlsx or CSV")]
    Archive,
    /// Compressed data.
    #[error("the file is compressed; unpack it first")]
    Compressed,
    #[error("this is a PDF; save its table as CSV or .xlsx")]
    Pdf,
    /// Neither text nor a known type.
    #[error("this is not text; use CSV, one address per line, JSON lines or an .xlsx workbook")]
    Binary,
    /// One array instead of lines.
    #[error("this is a JSON array; use JSON lines, one object per line")]
    JsonArray,
    /// JSON lines without a single readable one.
    #[error("line {0} is not a JSON object, nor is any other line")]
    NotJson(u64),
    /// A quote without its end, with the line.
    #[error("the quote opened in line {0} is never closed")]
    OpenQuote(u64),
    /// Rows of one quoted cell each, which have different numbers of cells within.
    #[error(
        "each row is in quotes as a whole, and its cells cannot be told apart; save the file again without these quotes"
    )]
    WrappedRows,
    /// A record without an end, with the line.
    #[error("line {0} is too long, or a quote opened there is never closed")]
    RecordTooLong(u64),
    /// A row with too many cells.
    #[error("row {0} has more than {COLUMNS_MAX} columns")]
    TooManyColumns(u64),
    #[error("row {0} has a cell of more than {CELL_MAX_BYTES} bytes")]
    CellTooLong(u64),
    /// A row whose cells are too long in total.
    #[error("row {0} has more than {RECORD_MAX} bytes of text")]
    RowTooLong(u64),
    /// More rows than allowed.
    #[error("the file has more than {0} rows; split it")]
    TooManyRows(u64),
    /// A workbook that exceeds a bound.
    #[error("the workbook has {0}; save the table as CSV")]
    Unpacks(WorkbookBound),
    /// A workbook with content that no spreadsheet program writes.
    #[error("the workbook is damaged or was not written by a spreadsheet program")]
    Damaged,
    /// A missing sheet, or a workbook without a visible one.
    #[error("the workbook has no such visible sheet")]
    NoSheet,
    /// The file could not be read completely.
    #[error("the file could not be read")]
    Io(#[from] io::Error),
}

impl FileFault {
    /// Stable identifier for programs, independent of the message.
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
            Self::WrappedRows => "wrapped_rows",
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

    /// The number in the message: the line or row of the fault, counted from 1, or the maximum number of rows.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::NotJson(n)
            | Self::OpenQuote(n)
            | Self::RecordTooLong(n)
            | Self::TooManyColumns(n)
            | Self::CellTooLong(n)
            | Self::RowTooLong(n)
            | Self::TooManyRows(n) => Some(*n),
            _ => None,
        }
    }
}
