//! Responses of `/app/uploads`.

use probity_account::id::{JobId, UploadId};
use probity_contract::error::ApiError;
use probity_contract::timestamp::Timestamp;
use probity_lists::remarks::TextRemarks;
use probity_mail::time::DAY_MS;
use probity_store::uploads::{ColumnContent, Upload};
use serde::{Deserialize, Serialize};

use crate::uploads::about::{FileFacts, FileKind};
use crate::uploads::cells::{FileRow, cells};
use crate::uploads::count::Domains;

/// Rows of a preview, without the header.
pub const PREVIEW_ROWS: i64 = 20;
/// Maximum length of a cell in a preview, in characters.
const CELL_CHARS: usize = 200;

#[derive(Debug, Serialize)]
pub struct UploadView {
    pub id: UploadId,
    name: String,
    /// `csv` for a file, `input` for a pasted list.
    source: String,
    kind: FileKind,
    encoding: Option<String>,
    windows_1252: bool,
    /// Whether the encoding is a guess.
    guessed: bool,
    /// What was odd about the text: for each oddity, how often, and the first line.
    remarks: TextRemarks,
    delimiter: Option<char>,
    sheet: Option<String>,
    sheets: Vec<String>,
    /// Size of the file, in bytes.
    size: i64,
    pub columns: Vec<String>,
    header: bool,
    pub column: Option<i64>,
    /// Rows without the header.
    rows: i64,
    /// First row without an address, counted from 1 with the header.
    first_empty: Option<i64>,
    /// Column with the most addresses, if the chosen one has none at all.
    better_column: Option<usize>,
    /// Null if no column is chosen.
    counts: Option<ColumnCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Vec<Vec<String>>>,
    pub job: Option<JobId>,
    created_at: Timestamp,
    expires_at: Timestamp,
}

/// Content of the address column.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ColumnCounts {
    /// Rows with text.
    addresses: i64,
    /// Different texts.
    distinct: i64,
    /// Rows that repeat an earlier one.
    duplicates: i64,
    /// Rows without an address, which are not verified.
    empty: i64,
    /// Different texts that are not addresses.
    invalid: i64,
}

impl From<&ColumnContent> for ColumnCounts {
    fn from(found: &ColumnContent) -> Self {
        let ColumnContent { addresses, blank, repeated, invalid, .. } = *found;
        Self { addresses, distinct: addresses - repeated, duplicates: repeated, empty: blank, invalid }
    }
}

impl UploadView {
    /// Creates the view of an upload that is kept for `keep_days` after its last use, with a preview if the first rows were
    /// read.
    pub fn of(upload: Upload, keep_days: i64, first: Option<Vec<FileRow>>) -> Result<Self, ApiError> {
        let about = FileFacts::of(&upload.about)?;
        let header = upload.choice.header;
        let shown = |row: FileRow| cells(&about, row).iter().map(|cell| cut(cell)).collect();
        let preview = first.map(|rows| rows.into_iter().map(shown).collect());
        let columns = about.columns(header).iter().map(|name| cut(name)).collect();
        let domains = upload.content.as_ref().map(|found| Domains::of(&found.domains)).transpose()?;
        let none = upload.content.as_ref().is_some_and(|found| found.addresses - found.repeated == found.invalid);
        let better_column = about.fullest().map(|(column, _)| column).filter(|_| none);
        let FileFacts { name, kind, encoding, windows_1252, guessed, remarks, delimiter, sheet, sheets, .. } = about;
        Ok(Self {
            id: upload.id,
            name,
            source: upload.source,
            kind,
            encoding,
            windows_1252,
            guessed,
            remarks,
            delimiter,
            sheet,
            sheets,
            size: upload.size,
            columns,
            header,
            column: upload.choice.column,
            rows: data_rows(upload.rows, header),
            first_empty: domains.and_then(|domains| domains.first_blank),
            better_column,
            counts: upload.content.as_ref().map(ColumnCounts::from),
            preview,
            job: upload.job.map(|(_, id)| id),
            created_at: upload.created_at.into(),
            expires_at: (upload.touched_at + keep_days * DAY_MS).into(),
        })
    }
}

/// Returns the number of rows without the header.
fn data_rows(rows: i64, header: bool) -> i64 {
    rows - i64::from(header)
}

fn cut(cell: &str) -> String {
    cell.chars().take(CELL_CHARS).collect()
}

/// Existing uploads, and the limits of new ones.
#[derive(Debug, Serialize)]
pub struct Uploads {
    pub data: Vec<UploadView>,
    pub limits: UploadLimits,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct UploadLimits {
    /// Maximum size of a file, in bytes.
    pub bytes: usize,
    /// Maximum number of rows in a file.
    pub rows: usize,
    /// Maximum number of uploads at a time.
    pub uploads: i64,
    /// Whether workbooks can be read.
    pub workbooks: bool,
}

/// Address column and header, either as requested or as last shown. A missing value means the current one.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    /// Column with the addresses, from 0.
    pub column: Option<i64>,
    /// Whether the first row names the columns.
    pub header: Option<bool>,
}

/// Job that was created from an upload.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Started {
    pub id: JobId,
}

/// An upload that was deleted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeletedUpload {
    pub id: UploadId,
    pub deleted: bool,
}
