//! Adds a file in one step: receives and reads it, then verifies it or forecasts its results.
//!
//! Callers that inspect a file first use [`super::acts`] instead. An upload without a job is deleted.

use probity_account::id::UploadId;
use probity_backend::lists::progress::JobProgress;
use probity_backend::uploads::forecast::Forecast;
use probity_backend::uploads::view::{Choose, OtherColumn, UploadView};
use probity_contract::error::{ApiError, Code};
use serde::Serialize;

use crate::app::App;
use crate::callers::admission::running;
use crate::callers::caller::Caller;
use crate::callers::incoming::IncomingBody;
use crate::callers::once::Once;
use crate::lists::progress::get_progress;
use crate::uploads::acts::{choose_column, delete_upload, forecast_upload, get_upload};
use crate::uploads::receive::{UploadQuery, receive_upload};
use crate::uploads::start::{start_upload, start_upload_once};

/// Options for a file to add.
pub struct FileAddition {
    pub upload: UploadQuery,
    /// Column with the addresses, by name or by number from 1; `None` to detect it.
    pub column: Option<String>,
    /// Whether the first row is data, even if it looks like a header.
    pub no_header: bool,
    /// Caller's name for the list. Adding the same rows again under this name returns the existing list.
    pub reference: Option<String>,
}

/// The list of a file that was added.
#[derive(Debug, Serialize)]
pub struct AddedFile {
    #[serde(flatten)]
    progress: JobProgress,
    /// Other columns with addresses, the fullest first. These are not verified.
    other_columns: Vec<OtherColumn>,
}

/// Adds a file and starts its verification. `open` starts to read the body, whose maximum size in bytes it is given.
pub async fn add_file<B: IncomingBody>(
    app: &App,
    caller: &Caller,
    addition: FileAddition,
    open: impl FnOnce(usize) -> Result<B, ApiError>,
) -> Result<AddedFile, ApiError> {
    running(app, caller)?;
    let FileAddition { upload, column, no_header, reference } = addition;
    let upload = receive_upload(app, caller, upload, open).await?;
    let id = upload.id;
    let started = start(app, caller, upload, (column, no_header), reference).await;
    // A job found by a reference belongs to another upload; and a job may have started although its response failed.
    if get_upload(app, caller, id).await.is_ok_and(|upload| upload.job.is_none()) {
        drop_upload(app, caller, id).await;
    }
    started
}

/// Forecasts the results and cost of a file's job, and stores nothing.
pub async fn forecast_file<B: IncomingBody>(
    app: &App,
    caller: &Caller,
    addition: FileAddition,
    open: impl FnOnce(usize) -> Result<B, ApiError>,
) -> Result<Forecast, ApiError> {
    running(app, caller)?;
    let FileAddition { upload, column, no_header, .. } = addition;
    let upload = receive_upload(app, caller, upload, open).await?;
    let id = upload.id;
    let forecast = match choose(app, caller, upload, column, no_header).await {
        Ok(_) => forecast_upload(app, caller, id).await,
        Err(error) => Err(error),
    };
    drop_upload(app, caller, id).await;
    forecast
}

/// Deletes an unneeded upload. If this fails, maintenance removes it later.
async fn drop_upload(app: &App, caller: &Caller, id: UploadId) {
    if let Err(error) = delete_upload(app, caller, id).await {
        tracing::warn!(upload = %id, "an upload without a job was not deleted: {error:?}");
    }
}

async fn start(
    app: &App,
    caller: &Caller,
    upload: UploadView,
    (column, no_header): (Option<String>, bool),
    reference: Option<String>,
) -> Result<AddedFile, ApiError> {
    let upload = choose(app, caller, upload, column, no_header).await?;
    let started = match reference {
        Some(reference) => start_upload_once(app, caller, upload.id, reference).await.map_err(refuse_reference)?,
        None => start_upload(app, caller, upload.id, &Once::unkeyed(), Choose::default()).await?,
    };
    let progress = get_progress(app, caller, started.id).await?;
    Ok(AddedFile { progress, other_columns: upload.other_columns })
}

fn refuse_reference(error: ApiError) -> ApiError {
    if error.code() == Code::IdempotencyKeyReused {
        return ApiError::invalid("reference", "is already used for another list; choose another");
    }
    error
}

/// Chooses how an upload is read, unless it is already read this way. Returns it as it is read then.
async fn choose(
    app: &App,
    caller: &Caller,
    upload: UploadView,
    column: Option<String>,
    no_header: bool,
) -> Result<UploadView, ApiError> {
    let column = column.map(|wanted| column_of(&upload.columns, &wanted)).transpose()?;
    if column.is_none() && !no_header {
        if upload.column.is_some() {
            return Ok(upload);
        }
        let names = upload.columns.join(", ");
        return Err(ApiError::invalid("column", format_args!("no column has addresses; choose one of: {names}")));
    }
    let wish = Choose { column, header: no_header.then_some(false) };
    choose_column(app, caller, upload.id, wish).await
}

/// Returns the index of a column, found by its name or else by its number from 1.
fn column_of(columns: &[String], wanted: &str) -> Result<i64, ApiError> {
    let numbered = || wanted.parse::<usize>().ok().filter(|number| (1..=columns.len()).contains(number));
    let named = columns.iter().position(|name| name == wanted);
    let named = named.or_else(|| columns.iter().position(|name| name.trim().eq_ignore_ascii_case(wanted.trim())));
    let index = named.or_else(|| numbered().map(|number| number - 1));
    let unknown = || ApiError::invalid("column", format_args!("must be one of: {}", columns.join(", ")));
    index.and_then(|index| i64::try_from(index).ok()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_its_name_then_by_its_number() {
        let columns = ["2", "E-mail", "note "].map(str::to_owned);
        for (wanted, index) in [("E-mail", 1), ("e-MAIL ", 1), ("note", 2), ("2", 0), ("3", 2)] {
            assert_eq!(column_of(&columns, wanted).unwrap(), index, "{wanted}");
        }
        for wanted in ["", "0", "4", "mail"] {
            let refused = column_of(&columns, wanted).unwrap_err();
            assert_eq!(refused.field(), Some(("column", "must be one of: 2, E-mail, note ")), "{wanted}");
        }
    }
}
