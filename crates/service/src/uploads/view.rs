//! What `/app/uploads` shows.

use probity_account::id::{JobId, UploadId};
use probity_mail::time::DAY_MS;
use probity_store::uploads::{Content, Upload};
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::timestamp::Timestamp;
use crate::uploads::about::{About, Kind};
use crate::uploads::cells::{Row, cells};

/// Rows of a preview, without the header.
pub const PREVIEW_ROWS: i64 = 20;
/// Characters of a cell in a preview.
const CELL_CHARS: usize = 200;

/// An upload.
#[derive(Debug, Serialize)]
pub struct UploadView {
    id: UploadId,
    name: String,
    /// `csv` for a file, `input` for what was pasted.
    source: String,
    kind: Kind,
    encoding: Option<String>,
    windows_1252: bool,
    delimiter: Option<char>,
    sheet: Option<String>,
    sheets: Vec<String>,
    /// Bytes of the file.
    size: i64,
    columns: Vec<String>,
    header: bool,
    column: Option<i64>,
    /// Rows without the header.
    rows: i64,
    /// None where no column is chosen.
    counts: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Vec<Vec<String>>>,
    job: Option<JobId>,
    created_at: Timestamp,
    expires_at: Timestamp,
}

/// What is in the column.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Counts {
    /// Rows with a text.
    addresses: i64,
    /// Different texts.
    distinct: i64,
    /// Rows that repeat an earlier one.
    duplicates: i64,
    /// Rows without a text.
    empty: i64,
    /// Different texts that cannot be addresses.
    invalid: i64,
}

impl From<&Content> for Counts {
    fn from(found: &Content) -> Self {
        let Content { addresses, blank, repeated, invalid, .. } = *found;
        Self { addresses, distinct: addresses - repeated, duplicates: repeated, empty: blank, invalid }
    }
}

impl UploadView {
    /// An upload that is kept for so many days after something was last done with it, with its first rows where they were read.
    pub fn of(upload: Upload, keep_days: i64, first: Option<Vec<Row>>) -> Result<Self, ApiError> {
        let about = About::of(&upload.about)?;
        let header = upload.choice.header;
        let shown = |row: Row| cells(&about, row).iter().map(|cell| cut(cell)).collect();
        let preview = first.map(|rows| rows.into_iter().map(shown).collect());
        let columns = about.columns(header).iter().map(|name| cut(name)).collect();
        let About { name, kind, encoding, windows_1252, delimiter, sheet, sheets, .. } = about;
        Ok(Self {
            id: upload.id,
            name,
            source: upload.source,
            kind,
            encoding,
            windows_1252,
            delimiter,
            sheet,
            sheets,
            size: upload.size,
            columns,
            header,
            column: upload.choice.column,
            rows: data_rows(upload.rows, header),
            counts: upload.content.as_ref().map(Counts::from),
            preview,
            job: upload.job.map(|(_, id)| id),
            created_at: upload.created_at.into(),
            expires_at: (upload.touched_at + keep_days * DAY_MS).into(),
        })
    }
}

/// Rows without the header.
pub(super) fn data_rows(rows: i64, header: bool) -> i64 {
    rows - i64::from(header)
}

fn cut(cell: &str) -> String {
    cell.chars().take(CELL_CHARS).collect()
}

/// What can be put up, and what is there.
#[derive(Debug, Serialize)]
pub struct Uploads {
    pub data: Vec<UploadView>,
    pub limits: Limits,
}

/// What an upload may be.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    /// Bytes of a file.
    pub bytes: usize,
    /// Rows of a file.
    pub rows: usize,
    /// Uploads at a time.
    pub uploads: i64,
    /// Whether workbooks are read.
    pub workbooks: bool,
}

/// A column, and a view of the first row: those that are wished for, or that were looked at. What is not said is as it is.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    /// The column with the addresses, from 0.
    pub column: Option<i64>,
    /// Whether the first row names the columns.
    pub header: Option<bool>,
}

/// A job that was made of an upload.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Started {
    /// The job's id.
    pub id: JobId,
}
