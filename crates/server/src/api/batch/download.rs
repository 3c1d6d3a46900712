//! `GET /v1/batch-verify/{id}/download`: all rows of a job as a file.
//!
//! The file is written while it is sent, a thousand rows at a time, so a million rows take no more memory than a page. Between
//! two parts no connection to the database is held: a slow reader holds up nobody. Where the database fails half-way the
//! transfer is cut, and an HTTP client sees that it is not whole.

mod csv;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use probity_core::verdict::{Reason, Status};
use probity_store::jobs::{self, Job};

use self::csv::CsvRows;
use super::view::BatchRow;
use super::{Named, rows};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::openapi::parameters::{DownloadParams, JobPath};
use crate::query::Query;

/// Rows of one part: those of a block.
const PART_ROWS: i64 = 1_000;

/// The formats of files.
const FORMATS: [&str; 2] = ["csv", "ndjson"];

/// Download a job
///
/// All rows as CSV (RFC 4180, UTF-8) or as a JSON object a line. With `status` or `reason` only rows that have this verdict.
/// In CSV, text that a spreadsheet would run as a formula begins with `'`; programs ask for `raw=true`.
#[utoipa::path(
    get,
    path = "/v1/batch-verify/{id}/download",
    tag = "Verification",
    params(JobPath, DownloadParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "The file.", content(
        (String = "text/csv", example = csv::example),
        (BatchRow = "application/x-ndjson"),
    )))
)]
pub(crate) async fn download_batch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named,
    query: Query,
) -> Result<Response, ApiError> {
    let wanted = Wanted::of(&query)?;
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    let (kind, end) = match wanted.format {
        Format::Csv { .. } => ("text/csv; charset=utf-8; header=present", "csv"),
        Format::Ndjson => ("application/x-ndjson", "ndjson"),
    };
    let name = format!("attachment; filename=\"{id}.{end}\"");
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(ApiError::server_error)?),
    ];
    let file = File { app, job, wanted, next: 0, begun: false };
    Ok((headers, Body::from_stream(stream::try_unfold(file, File::part))).into_response())
}

/// The file that was asked for.
struct Wanted {
    format: Format,
    status: Option<Status>,
    reason: Option<Reason>,
}

#[derive(Clone, Copy)]
enum Format {
    Csv { raw: bool },
    Ndjson,
}

impl Wanted {
    fn of(query: &Query) -> Result<Self, ApiError> {
        let raw = query.flag("raw")?;
        let format = match query.one_of("format", &FORMATS)? {
            None => Format::Csv { raw },
            Some(name) if name == FORMATS[0] => Format::Csv { raw },
            Some(_) => Format::Ndjson,
        };
        let status = query.one_of("status", &Status::ALL.map(Status::as_str))?;
        let reasons: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let reason = query.one_of("reason", &reasons)?;
        Ok(Self {
            format,
            status: status.and_then(|name| Status::ALL.into_iter().find(|status| status.as_str() == name)),
            reason: reason.and_then(|name| Reason::from_name(&name)),
        })
    }

    fn takes(&self, row: &BatchRow) -> bool {
        if self.status.is_none() && self.reason.is_none() {
            return true;
        }
        let verdict = row.done.as_ref();
        verdict.is_some_and(|verdict| {
            self.status.is_none_or(|status| status.as_str() == verdict.status)
                && self.reason.is_none_or(|reason| reason.as_str() == verdict.reason)
        })
    }
}

/// A file on its way.
struct File {
    app: Arc<App>,
    job: Job,
    wanted: Wanted,
    next: i64,
    begun: bool,
}

impl File {
    /// The next part and what follows it. A part may be empty, where no row of it was asked for.
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, axum::BoxError> {
        if self.begun && self.next >= self.job.rows {
            return Ok(None);
        }
        let from = self.next;
        self.next = from.saturating_add(PART_ROWS).min(self.job.rows);
        let mut rows = self.read(from).await.inspect_err(|error| {
            tracing::warn!(%error, "a download was cut");
        })?;
        rows.retain(|row| self.wanted.takes(row));
        let text = match self.wanted.format {
            Format::Csv { raw } => CsvRows { raw }.text(&rows, !self.begun),
            Format::Ndjson => lines(&rows),
        };
        self.begun = true;
        Ok(Some((text.into(), self)))
    }

    async fn read(&self, from: i64) -> Result<Vec<BatchRow>, axum::BoxError> {
        let mut conn = self.app.store.read().await?;
        let read = rows::rows(&mut conn, &self.job, from, self.next).await;
        read.map_err(|error| error.log_text().unwrap_or_else(|| error.message().to_owned()).into())
    }
}

fn lines(rows: &[BatchRow]) -> Vec<u8> {
    let mut text = Vec::with_capacity(rows.len() * 256);
    for row in rows {
        serde_json::to_writer(&mut text, row).expect("rows are plain JSON");
        text.push(b'\n');
    }
    text
}
