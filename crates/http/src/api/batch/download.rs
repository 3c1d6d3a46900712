//! `GET /v1/batch-verify/{id}/download`: all rows of a job as a file.
//!
//! If the file fails midway, the transfer is cut, so an HTTP client detects that it is incomplete. `HEAD` only reports whether
//! there is a file; none is written, so its length is unknown.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse as _, Response};
use probity_account::id::JobId;
use probity_contract::error::ApiError;
use probity_contract::parameters::JobPath;
use probity_contract::published::jobs::batch::BatchRow;
use probity_contract::published::jobs::download::DownloadQuery;
use probity_service::lists::download::{csv, find_download};

use crate::edge::shell::unsent_body;
use crate::handler::{Asking, Call, PathId, Refusal};

/// Download job results
///
/// Returns all rows as CSV (RFC 4180, UTF-8), as one JSON object per line, or as a workbook. `status`, `reason` and
/// `provider` filter the rows. In CSV, cells that a spreadsheet would run as a formula begin with `'`; `format=raw` is
/// CSV without that protection. No cell of a workbook is a formula; its second sheet has the figures and a chart.
/// `columns=original` puts the columns of the uploaded file first, while that file is kept.
#[utoipa::path(
    get,
    path = "/v1/batch-verify/{id}/download",
    tag = "Verification",
    params(JobPath, DownloadQuery),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "The file.", content(
        (String = "text/csv", example = csv::example),
        (BatchRow = "application/x-ndjson"),
        (inline(ResultWorkbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    )))
)]
pub(crate) async fn download_batch(
    Call(app, caller): Call,
    PathId(id): PathId<JobId>,
    Asking(query): Asking<DownloadQuery>,
    method: Method,
) -> Result<Response, Refusal> {
    let download = find_download(&app, &caller, id, query).await?;
    let headers = attached(download.media_type(), &download.file_name())?;
    if method == Method::HEAD {
        return Ok((headers, unsent_body()).into_response());
    }
    let content = download.write().await?;
    let length = content.bytes.map(|bytes| [(header::CONTENT_LENGTH, bytes)]);
    Ok((headers, length, Body::from_stream(content.parts)).into_response())
}

/// Returns the headers of a file.
pub(crate) fn attached(media_type: &'static str, name: &str) -> Result<[(HeaderName, HeaderValue); 2], ApiError> {
    Ok([
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&attachment(name)).map_err(ApiError::server_error)?),
    ])
}

/// Returns a file's name for all browsers: in ASCII, and unchanged (RFC 6266 §5).
fn attachment(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '_' }).collect();
    if plain == name {
        return format!("attachment; filename=\"{plain}\"");
    }
    let whole = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}")
}

/// A workbook with the sheets `results` and `summary`, in Office Open XML.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary, example = "PK...")]
#[expect(dead_code, reason = "a form for the description, not a value")]
struct ResultWorkbook(Vec<u8>);
