//! Responses of `/app/uploads`.

use probity_account::id::{JobId, UploadId};
use probity_contract::error::ApiError;
use probity_contract::timestamp::Timestamp;
use probity_lists::absent::Absence;
use probity_lists::encoding::CHOICES;
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

/// Number of cells that show how letters were read.
const FOREIGN_CELLS: usize = 6;

/// Rows to show.
pub struct ShownRows {
    /// First rows after the header.
    pub first: Vec<FileRow>,
    /// First row that was not UTF-8.
    pub foreign: Option<FileRow>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a field of the answer")]
#[derive(Debug, Serialize)]
pub struct UploadView {
    pub id: UploadId,
    name: String,
    /// `csv` for a file, `input` for a pasted list.
    source: String,
    kind: FileKind,
    encoding: Option<String>,
    windows_1252: bool,
    /// Whether the encoding was guessed.
    guessed: bool,
    /// Irregularities of the text, each with its count and first line.
    remarks: TextRemarks,
    /// Whether each row was one quoted cell, whose content was parsed again.
    wrapped: bool,
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
    /// Whether a user chose the encoding.
    encoding_chosen: bool,
    /// Encodings to choose from, if it was guessed or chosen.
    encodings: Vec<String>,
    /// First row that was not UTF-8, as read.
    foreign_row: Option<ForeignRow>,
    /// Rows without an address.
    without: RowsLeftOut,
    /// Column with the most addresses, if it has more than the chosen one, or if none of that one's are valid.
    better_column: Option<usize>,
    /// Other columns with addresses, the fullest first.
    pub other_columns: Vec<OtherColumn>,
    /// Null if no column is chosen.
    counts: Option<ColumnCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Vec<Vec<String>>>,
    pub job: Option<JobId>,
    created_at: Timestamp,
    expires_at: Timestamp,
}

/// Column with addresses that are not verified.
#[derive(Debug, Serialize)]
pub struct OtherColumn {
    /// Index of the column, from 0.
    column: usize,
    addresses: u64,
}

/// Row that shows how letters were read.
#[derive(Debug, Serialize)]
struct ForeignRow {
    line: Option<i64>,
    /// Cells with non-ASCII letters.
    cells: Vec<String>,
}

impl ForeignRow {
    fn of(about: &FileFacts, cells: &[String]) -> Self {
        let foreign = cells.iter().filter(|cell| !cell.is_ascii()).take(FOREIGN_CELLS);
        Self {
            line: about.foreign_row.and_then(|row| about.line_of(row)),
            cells: foreign.map(|cell| cut(cell)).collect(),
        }
    }
}

/// Rows that are not verified, by reason.
#[derive(Debug, Default, Serialize)]
struct RowsLeftOut {
    blank: i64,
    several: i64,
    unknown_encoding: i64,
    /// The first of them.
    first: Vec<RowLeftOut>,
}

#[derive(Debug, Serialize)]
struct RowLeftOut {
    /// Row number: in a sheet, its number there, otherwise counted from 1 with the header. Includes the first line, if known.
    row: i64,
    line: Option<i64>,
    reason: &'static str,
    /// Addresses in its cell, if there are several.
    addresses: Option<usize>,
}

impl RowsLeftOut {
    fn of(about: &FileFacts, all: i64, domains: Domains) -> Self {
        let Domains { several, guesses, first_without, .. } = domains;
        let first = first_without.into_iter().map(|(row, why)| {
            let (reason, addresses) = match why {
                Absence::Blank => ("blank", None),
                Absence::Several(addresses) => ("several", Some(addresses)),
                Absence::Guess => ("unknown_encoding", None),
            };
            let (place, is_sheet) = (about.line_of(row), about.kind == FileKind::Xlsx);
            let number = place.filter(|_| is_sheet).unwrap_or(row + 1);
            RowLeftOut { row: number, line: place.filter(|_| !is_sheet), reason, addresses }
        });
        Self { blank: all - several - guesses, several, unknown_encoding: guesses, first: first.collect() }
    }
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
    pub fn of(upload: Upload, keep_days: i64, rows: Option<ShownRows>) -> Result<Self, ApiError> {
        let about = FileFacts::of(&upload.about)?;
        let header = upload.choice.header;
        let shown = |row: FileRow| cells(&about, row).iter().map(|cell| cut(cell)).collect();
        let (first, foreign) = rows.map_or((None, None), |rows| (Some(rows.first), rows.foreign));
        let foreign_row = foreign.map(|row| ForeignRow::of(&about, &cells(&about, row)));
        let preview = first.map(|rows| rows.into_iter().map(shown).collect());
        let columns = about.columns(header).iter().map(|name| cut(name)).collect();
        let domains = upload.content.as_ref().map(|found| Domains::of(&found.domains)).transpose()?;
        let none = upload.content.as_ref().is_some_and(|found| found.addresses - found.repeated == found.invalid);
        let better_column = about.better_column(upload.choice.column, none).map(|(column, _)| column);
        let all = upload.content.as_ref().map_or(0, |found| found.blank);
        let beside = domains.as_ref().map(|domains| domains.beside.clone()).unwrap_or_default();
        let other_columns = beside.into_iter().map(|(column, addresses)| OtherColumn { column, addresses }).collect();
        let without = domains.map(|domains| RowsLeftOut::of(&about, all, domains)).unwrap_or_default();
        let is_unsure = about.guessed || about.encoding_chosen;
        let words = CHOICES.iter().filter(|_| is_unsure).map(|choice| choice.name().to_ascii_lowercase());
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
            wrapped: about.is_wrapped,
            delimiter,
            sheet,
            sheets,
            size: upload.size,
            columns,
            header,
            column: upload.choice.column,
            rows: data_rows(upload.rows, header),
            encoding_chosen: about.encoding_chosen,
            encodings: words.collect(),
            foreign_row,
            without,
            better_column,
            other_columns,
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
