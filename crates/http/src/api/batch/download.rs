//! `GET /v1/batch-verify/{id}/download`: all rows of a job as a file.
//!
//! CSV and NDJSON are written while they are sent, a thousand rows at a time, so a million rows take no more memory than a page.
//! Between two parts no connection to the database is held: a slow reader holds up nobody. Where the database fails half-way
//! the transfer is cut, and an HTTP client sees that it is not whole. A workbook can be read from its end only, so it is
//! written on disk before it is sent; to `HEAD`, which asks whether there would be one, it is not.

mod columns;
mod csv;
#[cfg(feature = "xlsx")]
mod xlsx;

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use probity_mail::verdict::{Reason, Status};
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::lists::rows;
use probity_service::published::batch::BatchRow;
use probity_service::query::Query;
#[cfg(feature = "xlsx")]
use probity_service::uploads::places::Places;
#[cfg(feature = "xlsx")]
use probity_store::OrgNo;
use probity_store::jobs::{self, Job, Standing};

use crate::api::batch::download::columns::{Columns, FileRow, upload_of};
use crate::api::batch::download::csv::CsvRows;
use crate::api::batch::{Named, OTHER_PROVIDERS};
use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::{DownloadParams, JobPath};

/// Rows of one part: those of a block.
const PART_ROWS: i64 = 1_000;

/// Workbooks that are written at a time by this process, and for one organization.
#[cfg(feature = "xlsx")]
static WORKBOOKS: Places = Places::new(2, 1, "too many workbooks are being written; try again, or use csv");

/// Which columns a file may have, the usual ones first.
pub(crate) const COLUMNS: [&str; 2] = ["results", ORIGINAL];
/// Those of the uploaded file before the others.
const ORIGINAL: &str = "original";

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

/// Download job results
///
/// Returns all rows as CSV (RFC 4180, UTF-8), as one JSON object per line, or as a workbook. `status`, `reason` and
/// `provider` filter the rows. In CSV, cells that a spreadsheet would run as a formula begin with `'`; `format=raw` is
/// CSV without that protection. All cells of a workbook are text. `columns=original` puts the columns of the uploaded
/// file first, while that file is kept.
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
    Asking(query): Asking,
    method: Method,
) -> Result<Response, Refusal> {
    let wanted = Wanted::of(&query)?;
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let columns = if wanted.original { Columns::with(upload_of(&mut conn, &job).await?)? } else { Columns::of_job() };
    drop(conn);
    let (kind, end) = wanted.format.kind_and_end();
    let name = format!("attachment; filename=\"{id}.{end}\"");
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(ApiError::server_error)?),
    ];
    #[cfg(feature = "xlsx")]
    if let Format::Xlsx = wanted.format {
        xlsx::check(job.rows)?;
    }
    if method == Method::HEAD {
        return Ok(headers.into_response());
    }
    let file = File { app, job, wanted, columns: columns.into(), next: 0, begun: false };
    Ok((headers, file.send().await?).into_response())
}

/// A workbook with one sheet, in Office Open XML.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary, example = "PK...")]
#[expect(dead_code, reason = "a form for the description, not a value")]
struct Workbook(Vec<u8>);

/// The file that was asked for.
struct Wanted {
    format: Format,
    status: Option<Status>,
    reason: Option<Reason>,
    /// The id of a mail provider, or the word for none that is known.
    provider: Option<String>,
    /// With the columns of the uploaded file.
    original: bool,
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
    fn of(query: &Query) -> Result<Self, Refusal> {
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
            provider: query.text("provider")?.filter(|id| !id.is_empty()).map(Cow::into_owned),
            original: query.one_of("columns", &COLUMNS)?.as_deref() == Some(ORIGINAL),
        })
    }

    /// Whether a row is wanted by what stands in it; of those without a verdict none is, where anything is asked for.
    fn takes(&self, standing: Option<&Standing>) -> bool {
        if self.status.is_none() && self.reason.is_none() && self.provider.is_none() {
            return true;
        }
        standing.map(|standing| &standing.result.kind).is_some_and(|kind| {
            self.status.is_none_or(|status| status == kind.reason.status())
                && self.reason.is_none_or(|reason| reason == kind.reason)
                && self
                    .provider
                    .as_ref()
                    .is_none_or(|provider| provider == kind.provider.as_deref().unwrap_or(OTHER_PROVIDERS))
        })
    }
}

/// A file on its way.
struct File {
    app: Arc<App>,
    job: Job,
    wanted: Wanted,
    columns: Arc<Columns>,
    next: i64,
    begun: bool,
}

impl File {
    /// The body of the answer.
    #[cfg_attr(
        not(feature = "xlsx"),
        expect(clippy::unused_async, reason = "only a workbook is packed before it is sent")
    )]
    async fn send(self) -> Result<Response, Refusal> {
        #[cfg(feature = "xlsx")]
        if let Format::Xlsx = self.wanted.format {
            let packed = xlsx::pack(&WORKBOOKS, self).await?;
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
                tracing::warn!(error = text, "a download was interrupted");
                return Err(text.into());
            }
        };
        let text = match self.wanted.format {
            Format::Csv { raw } => CsvRows { raw }.text(&self.columns, &rows, !self.begun),
            Format::Ndjson => lines(&self.columns, &rows),
            #[cfg(feature = "xlsx")]
            Format::Xlsx => return Err("a workbook is not sent in parts".into()),
        };
        self.begun = true;
        Ok(Some((text.into(), self)))
    }

    /// The wanted rows of the next part; none where all parts were given.
    async fn rows(&mut self) -> Result<Option<Vec<FileRow>>, Refusal> {
        let from = self.next;
        if from >= self.job.rows {
            return Ok(None);
        }
        let mut to = from.saturating_add(PART_ROWS).min(self.job.rows);
        let mut conn = self.app.store.read().await?;
        let own = self.columns.own_rows(&mut conn, from, to).await?;
        if let Some(own) = &own {
            to = from + i64::try_from(own.len()).map_err(ApiError::server_error)?;
        }
        self.next = to;
        let rows = rows::wanted(&mut conn, &self.job, from, to, |standing| self.wanted.takes(standing)).await?;
        let mut own = own.map(Vec::into_iter);
        let rows = rows.into_iter().filter_map(|row| {
            let own = own.as_mut().and_then(Iterator::next);
            row.map(|row| FileRow { row, own })
        });
        Ok(Some(rows.collect()))
    }
}

#[cfg(feature = "xlsx")]
impl xlsx::Parts for File {
    fn org(&self) -> OrgNo {
        self.job.org
    }

    fn columns(&self) -> Arc<Columns> {
        self.columns.clone()
    }

    async fn next(&mut self) -> Result<Option<Vec<FileRow>>, Refusal> {
        self.rows().await
    }
}

fn lines(columns: &Columns, rows: &[FileRow]) -> Vec<u8> {
    let mut text = Vec::with_capacity(rows.len() * 256);
    for row in rows {
        columns.line(row, &mut text);
    }
    text
}
