//! `GET /v1/batch-verify/{id}/download`: all rows of a job as a file.
//!
//! CSV and NDJSON are written while they are sent, a thousand rows at a time, so a million rows take no more memory than a page.
//! Between two parts no connection to the database is held: a slow reader holds up nobody. Where the database fails half-way
//! the transfer is cut, and an HTTP client sees that it is not whole. A workbook can be read from its end only, so it is
//! written on disk before it is sent.

mod columns;
mod csv;
#[cfg(feature = "xlsx")]
mod xlsx;

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

/// The forms of files by their names.
const FORMATS: &[(&str, Format)] = &[
    ("csv", Format::Csv { raw: false }),
    ("raw", Format::Csv { raw: true }),
    ("ndjson", Format::Ndjson),
    #[cfg(feature = "xlsx")]
    ("xlsx", Format::Xlsx),
];

/// The names of the forms of files.
pub(crate) fn formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|(name, _)| *name)
}

/// Download a job
///
/// All rows as CSV (RFC 4180, UTF-8), as a JSON object a line, or as a workbook. With `status` or `reason` only rows that have
/// this verdict. In CSV, text that a spreadsheet would run as a formula begins with `'`; programs ask for `format=raw`, which
/// is CSV without that. A workbook has text in all of its cells, and no formulas.
#[utoipa::path(
    get,
    path = "/v1/batch-verify/{id}/download",
    tag = "Verification",
    params(JobPath, DownloadParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "The file.", content(
        (String = "text/csv", example = csv::example),
        (BatchRow = "application/x-ndjson"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
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
    rows::readable(&job)?;
    let (kind, end) = wanted.format.kind_and_end();
    let name = format!("attachment; filename=\"{id}.{end}\"");
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(ApiError::server_error)?),
    ];
    let file = File { app, job, wanted, next: 0, begun: false };
    Ok((headers, file.send().await?).into_response())
}

/// A workbook of one sheet in Office Open XML.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary, example = "PK...")]
#[expect(dead_code, reason = "a form for the description, not a value")]
struct Workbook(Vec<u8>);

/// The file that was asked for.
struct Wanted {
    format: Format,
    status: Option<Status>,
    reason: Option<Reason>,
}

#[derive(Clone, Copy)]
enum Format {
    Csv {
        raw: bool,
    },
    Ndjson,
    #[cfg(feature = "xlsx")]
    Xlsx,
}

impl Format {
    /// The type of its content, and how the names of its files end.
    fn kind_and_end(self) -> (&'static str, &'static str) {
        match self {
            Self::Csv { .. } => ("text/csv; charset=utf-8; header=present", "csv"),
            Self::Ndjson => ("application/x-ndjson", "ndjson"),
            #[cfg(feature = "xlsx")]
            Self::Xlsx => (xlsx::CONTENT_TYPE, "xlsx"),
        }
    }
}

impl Wanted {
    fn of(query: &Query) -> Result<Self, ApiError> {
        let raw = query.flag("raw")?;
        let names: Vec<&str> = formats().collect();
        let name = query.one_of("format", &names)?;
        let known = |name: &String| FORMATS.iter().find(|(known, _)| known == name).map(|(_, format)| *format);
        let format = match name.as_ref().and_then(known) {
            None | Some(Format::Csv { raw: false }) => Format::Csv { raw },
            Some(other) => other,
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
    /// The body of the answer.
    #[cfg_attr(
        not(feature = "xlsx"),
        expect(clippy::unused_async, reason = "only a workbook is packed before it is sent")
    )]
    async fn send(self) -> Result<Response, ApiError> {
        #[cfg(feature = "xlsx")]
        if let Format::Xlsx = self.wanted.format {
            xlsx::check(self.job.rows)?;
            let packed = xlsx::pack(self).await?;
            return Ok(([(header::CONTENT_LENGTH, packed.bytes)], packed.body).into_response());
        }
        Ok(Body::from_stream(stream::try_unfold(self, File::part)).into_response())
    }

    /// The next part and what follows it. A part may be empty, where no row of it was asked for.
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, axum::BoxError> {
        let rows = match self.rows().await {
            Ok(Some(rows)) => rows,
            Ok(None) => return Ok(None),
            Err(error) => {
                let text = error.log_text().unwrap_or_else(|| error.message().to_owned());
                tracing::warn!(error = text, "a download was cut");
                return Err(text.into());
            }
        };
        let text = match self.wanted.format {
            Format::Csv { raw } => CsvRows { raw }.text(&rows, !self.begun),
            Format::Ndjson => lines(&rows),
            #[cfg(feature = "xlsx")]
            Format::Xlsx => return Err("a workbook is not sent in parts".into()),
        };
        self.begun = true;
        Ok(Some((text.into(), self)))
    }

    /// The wanted rows of the next part; none where all parts were given.
    async fn rows(&mut self) -> Result<Option<Vec<BatchRow>>, ApiError> {
        let from = self.next;
        if from >= self.job.rows {
            return Ok(None);
        }
        self.next = from.saturating_add(PART_ROWS).min(self.job.rows);
        let mut conn = self.app.store.read().await?;
        let mut rows = rows::rows(&mut conn, &self.job, from, self.next).await?;
        rows.retain(|row| self.wanted.takes(row));
        Ok(Some(rows))
    }
}

#[cfg(feature = "xlsx")]
impl xlsx::Parts for File {
    async fn next(&mut self) -> Result<Option<Vec<BatchRow>>, ApiError> {
        self.rows().await
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
