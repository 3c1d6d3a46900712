//! Columns of the uploaded file for one row of its list.
//!
//! A list contains only rows with an address, so a row's position in the file depends on the rows left out.

use probity_account::id::JobId;
use probity_backend::lists::rows;
use probity_backend::uploads::FileFacts;
use probity_backend::uploads::cells;
use probity_backend::uploads::without::RowsWithout;
use probity_contract::error::ApiError;
use probity_store::jobs;
use probity_store::uploads::{self, Upload};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;

/// Row of the uploaded file from which a row of a list was created.
#[derive(Debug, Serialize)]
pub struct RowOrigin {
    /// Columns except the address, in order; null if the list has no file, or the file is no longer stored.
    columns: Option<Vec<NamedCell>>,
    /// Line where the row begins, or its number in the sheet; null as above, or if unknown.
    line: Option<i64>,
    /// Sheet of a workbook; null for other files, and as above.
    sheet: Option<String>,
}

/// Cell of a file with the name of its column.
#[derive(Debug, Serialize)]
struct NamedCell {
    name: String,
    value: String,
}

/// Returns the other columns of a row in the uploaded file.
///
/// # Errors
/// 404 if the list has no row with this index.
pub async fn get_row_origin(app: &App, caller: &Caller, id: JobId, index: i64) -> Result<RowOrigin, ApiError> {
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    if !(0..job.rows).contains(&index) {
        return Err(ApiError::not_found());
    }
    let Some(upload) = uploads::of_job(&mut conn, job.org, job.no).await? else {
        return Ok(RowOrigin { columns: None, line: None, sheet: None });
    };
    let without = RowsWithout::of(uploads::skipped(&mut conn, upload.org, upload.no).await?);
    let missing = || ApiError::server_error("rows of an upload are missing");
    let at = place_of(index, &upload, &without).ok_or_else(missing)?;
    let row = cells::rows(&mut conn, &upload, at, at + 1).await?.pop().ok_or_else(missing)?;
    let about = FileFacts::of(&upload.about)?;
    let named = about.columns(upload.choice.header).into_iter().zip(cells::cells(&about, row));
    let is_address = |column: usize| upload.choice.column == i64::try_from(column).ok();
    let others = named.enumerate().filter(|(column, _)| !is_address(*column));
    let columns = others.map(|(_, (name, value))| NamedCell { name, value }).collect();
    let line = about.line_of(at);
    Ok(RowOrigin { columns: Some(columns), line, sheet: about.sheet })
}

/// Returns the position in the file of a list's row.
fn place_of(index: i64, upload: &Upload, without: &RowsWithout) -> Option<i64> {
    let first = i64::from(upload.choice.header);
    (first..upload.rows).filter(|at| !without.has(*at)).nth(usize::try_from(index).ok()?)
}
