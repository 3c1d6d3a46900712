//! Bounds of workbooks.
//!
//! A zip archive of 100 KiB may unpack to gigabytes, and each byte of XML may cost many bytes in memory. So every quantity that
//! costs memory or time has a bound here, and a reader that exceeds one stops with a [`FileFault`] that names it. Only shared texts
//! and the kinds of cell formats stay in memory: at most 85 MiB for any file.

use std::fmt;

use crate::FileFault;

/// Parts of the archive. A workbook of 100 sheets with drawings and comments has fewer.
pub(crate) const PARTS_MAX: u64 = 2_000;
/// Names, extra fields and comments of all parts, in bytes: the archive's directory is held in memory.
pub(crate) const DIRECTORY_MAX: u64 = 4 << 20;
/// Unpacked size of the parts that are read, in bytes. The largest sheet, 1,048,576 rows of a few columns, has about 300 MB.
pub(crate) const UNPACKED_MAX: u64 = 512 << 20;
/// One tag or one text between two tags, in bytes. A cell has 32,767 characters at most.
pub(crate) const RUN_MAX: usize = 1 << 20;
/// Nesting depth of elements. A sheet has fewer than 20 levels.
pub(crate) const DEPTH_MAX: usize = 256;
/// Visible sheets.
pub(crate) const SHEETS_MAX: usize = 1_000;
/// Shared texts: four columns of distinct texts in a full sheet.
pub(crate) const TEXTS_MAX: usize = 4 << 20;
/// Memory for shared texts, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 20;
/// Cell formats, as many as a spreadsheet program allows.
pub(crate) const FORMATS_MAX: usize = 1 << 16;
/// Memory for the addresses behind links of a sheet, in bytes. A spreadsheet program allows 65,530 links; other programs write
/// more. Links beyond are ignored.
#[cfg(feature = "workbook")]
pub(crate) const LINK_BYTES_MAX: usize = 8 << 20;
/// Rows of all sheets read, including empty ones. A sheet has 1,048,576.
pub(crate) const ROWS_MAX: u64 = 1 << 21;
/// Cells of all sheets read, including empty ones.
pub(crate) const CELLS_MAX: u64 = 20_000_000;

/// Bound that a workbook exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkbookBound {
    /// Parts of the archive.
    Parts,
    /// Bytes of the archive's directory.
    Directory,
    Unpacked,
    /// Bytes of one tag or one text.
    Run,
    /// Nesting depth of elements.
    Depth,
    Sheets,
    /// Shared texts.
    Texts,
    /// Bytes of shared texts.
    TextBytes,
    /// Cell formats.
    Formats,
    /// Rows, including empty ones.
    Rows,
    /// Cells, including empty ones.
    Cells,
    /// Bytes of text in all rows: many cells may share a long text.
    Expanded,
}

impl fmt::Display for WorkbookBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: u64| bytes >> 20;
        match self {
            Self::Parts => write!(f, "more than {PARTS_MAX} parts"),
            Self::Directory => write!(f, "a directory of more than {} MiB", mebibytes(DIRECTORY_MAX)),
            Self::Unpacked => write!(f, "more than {} MiB when unpacked", mebibytes(UNPACKED_MAX)),
            Self::Run => write!(f, "a tag or a text of more than {} MiB", mebibytes(RUN_MAX as u64)),
            Self::Depth => write!(f, "more than {DEPTH_MAX} elements within each other"),
            Self::Sheets => write!(f, "more than {SHEETS_MAX} sheets"),
            Self::Texts => write!(f, "more than {TEXTS_MAX} shared texts"),
            Self::TextBytes => write!(f, "more than {} MiB of shared texts", mebibytes(TEXT_BYTES_MAX as u64)),
            Self::Formats => write!(f, "more than {FORMATS_MAX} cell formats"),
            Self::Rows => write!(f, "more than {ROWS_MAX} rows, empty rows included"),
            Self::Cells => write!(f, "more than {CELLS_MAX} cells, empty cells included"),
            Self::Expanded => write!(f, "more text in its cells than can be stored"),
        }
    }
}

impl From<WorkbookBound> for FileFault {
    fn from(bound: WorkbookBound) -> Self {
        Self::Unpacks(bound)
    }
}
