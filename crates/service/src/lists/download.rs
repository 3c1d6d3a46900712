//! Download of a job's results as a file.
//!
//! CSV and NDJSON are written while they are sent, 1,000 rows at a time, so memory does not grow with the job. No database
//! connection is held between two parts, so a slow reader delays no one. If the database fails, the file breaks off with an
//! error. A workbook can be read only from its end, so it is written to disk before it is sent.

mod columns;
pub mod csv;
pub mod values;
#[cfg(feature = "xlsx")]
pub mod xlsx;

use std::sync::Arc;

use bytes::Bytes;
#[cfg(feature = "xlsx")]
use futures_util::TryStreamExt as _;
use futures_util::stream::{self, BoxStream};
use probity_account::id::JobId;
use probity_contract::error::{ApiError, Detail};
use probity_contract::published::jobs::download::{DownloadQuery, FileFormat};
#[cfg(feature = "xlsx")]
use probity_store::OrgNo;
use probity_store::jobs::{self, Job, SettledResult};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::lists::download::columns::{FileColumns, OriginalRow, upload_of};
use crate::lists::download::csv::CsvRows;
#[cfg(feature = "xlsx")]
use crate::lists::download::xlsx::RowSummary;
use crate::lists::filter::RowFilter;
use probity_backend::lists::rows;

/// Characters that file systems do not allow.
const UNSAFE: [char; 10] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|', '\u{202e}'];

/// Rows of one part; those of a block.
const PART_ROWS: i64 = 1_000;

/// Downloadable file, of which nothing is written yet.
pub struct JobDownload {
    app: Arc<App>,
    job: Job,
    query: DownloadQuery,
    filter: RowFilter,
    columns: Arc<FileColumns>,
    next: i64,
    /// Next row of the uploaded file.
    next_own: i64,
    begun: bool,
}

pub struct FileContent {
    /// Size in bytes, if known.
    pub bytes: Option<u64>,
    pub parts: BoxStream<'static, Result<Bytes, Detail>>,
}

/// Finds the file of a job's results, or returns the reason why there is none.
pub async fn find_download(
    app: &Arc<App>,
    caller: &Caller,
    id: JobId,
    query: DownloadQuery,
) -> Result<JobDownload, ApiError> {
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let columns = match () {
        () if query.original => {
            let upload = upload_of(&mut conn, &job).await?;
            FileColumns::with(&mut conn, upload).await?
        }
        () if job.integration.is_some() => FileColumns::of_run(),
        () => FileColumns::of_job(),
    };
    drop(conn);
    let filter = RowFilter::of_download(&query)?;
    #[cfg(feature = "xlsx")]
    if query.format == FileFormat::Xlsx {
        xlsx::check(job.rows.max(columns.file_rows()))?;
    }
    let next_own = columns.first_own();
    Ok(JobDownload { app: app.clone(), job, query, filter, columns: columns.into(), next: 0, next_own, begun: false })
}

impl JobDownload {
    pub fn media_type(&self) -> &'static str {
        self.query.format.media_type()
    }

    /// Returns the name of the file: the list's name, a label of the selection, the number of rows if the caller has it, and the
    /// extension of the format.
    pub fn file_name(&self) -> String {
        let rows = self.query.rows.as_ref().map_or_else(String::new, |rows| format!("{rows}."));
        let extension = format!("{rows}{}", self.query.format.extension());
        let Some(title) = &self.job.title else { return format!("{}.{extension}", self.job.id) };
        let ends = [".csv", ".txt", ".xlsx", ".jsonl", ".ndjson", ".tsv"];
        let cut = ends.iter().find_map(|end| {
            let at = title.len().checked_sub(end.len())?;
            title.get(at..).filter(|tail| tail.eq_ignore_ascii_case(end)).and(title.get(..at))
        });
        let stem: String =
            cut.unwrap_or(title).chars().map(|c| if UNSAFE.contains(&c) || c.is_control() { '-' } else { c }).collect();
        format!("{stem}.{}.{extension}", self.filter.label())
    }

    /// Starts to write the file. A workbook is written completely; other files are written part by part, on demand.
    #[cfg_attr(
        not(feature = "xlsx"),
        expect(clippy::unused_async, reason = "only a workbook is packed before it is sent")
    )]
    pub async fn write(self) -> Result<FileContent, ApiError> {
        #[cfg(feature = "xlsx")]
        if self.query.format == FileFormat::Xlsx {
            let packed = xlsx::pack(&self.app.places.workbooks.clone(), self).await?;
            let bytes = Some(packed.bytes);
            return Ok(FileContent { bytes, parts: Box::pin(packed.parts().map_err(Detail::from)) });
        }
        Ok(FileContent { bytes: None, parts: Box::pin(stream::try_unfold(self, Self::part)) })
    }

    /// Returns the next part and what follows it. A part is empty if the query selects none of its rows.
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, Detail> {
        let rows = match self.rows().await {
            Ok(Some(rows)) => rows,
            Ok(None) => return Ok(None),
            Err(error) => return Err(interrupted(&error)),
        };
        let text = match self.query.format {
            FileFormat::Csv { raw } => {
                CsvRows { raw, shape: self.columns.shape() }.text(&self.columns, &rows, !self.begun)
            }
            FileFormat::Ndjson => lines(&self.columns, &rows),
            #[cfg(feature = "xlsx")]
            FileFormat::Xlsx => return Err("a workbook is not sent in parts".into()),
        };
        self.begun = true;
        Ok(Some((text.into(), self)))
    }

    /// Returns the selected rows of the next part; `None` after the last part.
    async fn rows(&mut self) -> Result<Option<Vec<OriginalRow>>, ApiError> {
        let mut conn = self.app.store.read().await?;
        let from = self.next;
        let own = self.columns.own_rows(&mut conn, self.next_own, PART_ROWS).await?;
        let to = match &own {
            Some(own) if own.is_empty() => return Ok(None),
            Some(own) => from + own.iter().map(|(_, in_job)| i64::from(*in_job)).sum::<i64>(),
            None if from >= self.job.rows => return Ok(None),
            None => from.saturating_add(PART_ROWS).min(self.job.rows),
        };
        self.next = to;
        let selects = |email: Option<&str>, standing: Option<&SettledResult>| self.filter.selects(email, standing);
        let rows = if from < to { rows::wanted(&mut conn, &self.job, from, to, selects).await? } else { Vec::new() };
        let Some(own) = own else {
            return Ok(Some(rows.into_iter().flatten().map(|row| OriginalRow { row, own: None }).collect()));
        };
        self.next_own += i64::try_from(own.len()).map_err(ApiError::server_error)?;
        let (mut rows, all) = (rows.into_iter(), self.filter.is_all());
        let joined = own.into_iter().filter_map(|(own, in_job)| {
            // A row without an address is in no selection.
            let row = if in_job { rows.next()? } else { all.then(OriginalRow::without_address) };
            row.map(|row| OriginalRow { row, own: Some(own) })
        });
        Ok(Some(joined.collect()))
    }
}

#[cfg(feature = "xlsx")]
impl xlsx::RowParts for JobDownload {
    fn org(&self) -> OrgNo {
        self.job.org
    }

    fn columns(&self) -> Arc<FileColumns> {
        self.columns.clone()
    }

    fn summary(&self) -> RowSummary {
        let (title, language) = (self.job.title.clone(), self.query.language);
        RowSummary::of(title.unwrap_or_else(|| self.job.id.to_string()), self.filter.words(language), language)
    }

    async fn next(&mut self) -> Result<Option<Vec<OriginalRow>>, ApiError> {
        self.rows().await
    }
}

/// Logs the error that ends a file early.
pub(crate) fn interrupted(error: &ApiError) -> Detail {
    let text = error.log_text().unwrap_or_else(|| error.message().to_owned());
    tracing::warn!(error = text, "a download was interrupted");
    text.into()
}

fn lines(columns: &FileColumns, rows: &[OriginalRow]) -> Vec<u8> {
    let mut text = Vec::with_capacity(rows.len() * 256);
    for row in rows {
        columns.line(row, &mut text);
    }
    text
}
