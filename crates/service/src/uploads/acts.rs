//! Uploads, before a job is created from them: files and pasted lists.

use probity_account::id::{JobId, UploadId};
use probity_backend::uploads::about::{FileFacts, FileKind};
use probity_backend::uploads::cells;
use probity_backend::uploads::count::count;
use probity_backend::uploads::forecast::{self, Basis, Forecast};
use probity_backend::uploads::view::{
    Choose, DeletedUpload, PREVIEW_ROWS, ShownRows, UploadLimits, UploadView, Uploads,
};
use probity_contract::error::ApiError;
use probity_contract::query::{FromQuery, Query};
use probity_store::accounts::settings;
use probity_store::jobs::JobNo;
use probity_store::uploads::{self, ColumnChoice, Upload, UploadChange};
use probity_store::{Conn, OrgNo, ScopedFutureExt as _, StoreError};

use crate::app::App;
use crate::callers::caller::Caller;

/// Attempts at a change that conflicts with concurrent changes.
const CHANGES_MAX: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
pub struct UploadsQuery {
    /// Job created from the upload; if missing, the uploads that are not started are listed.
    pub job: Option<JobId>,
}

impl FromQuery for UploadsQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let job = query.filled("job")?.map(|job| job.parse::<JobId>()).transpose();
        Ok(Self { job: job.map_err(|_| ApiError::invalid("job", "must be a job ID"))? })
    }
}

/// Lists uploads, with the limits for new ones.
pub async fn list_uploads(app: &App, caller: &Caller, query: UploadsQuery) -> Result<Uploads, ApiError> {
    let config = app.config.uploads;
    let mut conn = app.store.read().await?;
    let keep_days = keep_days(app, &mut conn, caller.org()).await?;
    let all = match query.job {
        Some(job) => uploads::of_job(&mut conn, caller.org(), JobNo::of_id(job))
            .await?
            .into_iter()
            .filter(|upload| upload.test == caller.is_test())
            .collect(),
        None => uploads::list(&mut conn, caller.org(), caller.is_test(), config.at_once).await?,
    };
    drop(conn);
    let data = all.into_iter().map(|upload| UploadView::of(upload, keep_days, None)).collect::<Result<_, _>>()?;
    let limits = UploadLimits {
        bytes: config.body_max,
        rows: app.config.batch_rows_max,
        uploads: config.at_once,
        workbooks: cfg!(feature = "xlsx"),
    };
    Ok(Uploads { data, limits })
}

/// Returns an upload with its first rows.
pub async fn get_upload(app: &App, caller: &Caller, id: UploadId) -> Result<UploadView, ApiError> {
    let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    let upload = counted(app, upload).await?;
    let from = i64::from(upload.choice.header);
    let mut conn = app.store.read().await?;
    let first = cells::rows(&mut conn, &upload, from, from + PREVIEW_ROWS).await?;
    let foreign = match FileFacts::of(&upload.about)?.foreign_row {
        Some(row) => cells::rows(&mut conn, &upload, row, row + 1).await?.into_iter().next(),
        None => None,
    };
    let keep_days = keep_days(app, &mut conn, upload.org).await?;
    drop(conn);
    UploadView::of(upload, keep_days, Some(ShownRows { first, foreign }))
}

/// Chooses the column with the addresses and the meaning of the first row, then recounts. A concurrent change by another
/// user stays and is included in the count.
pub async fn choose_column(app: &App, caller: &Caller, id: UploadId, wish: Choose) -> Result<UploadView, ApiError> {
    for _ in 0..CHANGES_MAX {
        let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
        if upload.job.is_some() {
            return Err(ApiError::conflict("this file was already started; open its list"));
        }
        let choice = chosen(&upload, wish)?;
        if choice == upload.choice || change(app, &upload, choice).await? {
            return get_upload(app, caller, id).await;
        }
    }
    Err(ApiError::conflict("the file was changed at the same time; reload and try again"))
}

/// Changes the choice. Returns false if another request changed the upload.
async fn change(app: &App, upload: &Upload, to: ColumnChoice) -> Result<bool, ApiError> {
    let found = count(&app.store, upload, to, &app.places.counted).await?;
    let (org, no, now) = (upload.org, upload.no, app.now());
    let change = UploadChange { from: upload.choice, to, content: found.as_ref() };
    let changed = app.store.write(|tx| uploads::choose(tx, org, no, &change, now).scope_boxed()).await;
    match changed {
        Ok(()) => Ok(true),
        Err(StoreError::Conflict) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn chosen(upload: &Upload, wish: Choose) -> Result<ColumnChoice, ApiError> {
    let about = FileFacts::of(&upload.about)?;
    let width = i64::try_from(about.width).unwrap_or(i64::MAX);
    if let Some(column) = wish.column
        && !(0..width).contains(&column)
    {
        return Err(ApiError::invalid("column", format_args!("must be a number from 0 to {}", width - 1)));
    }
    if wish.header == Some(true) && about.kind == FileKind::Jsonl {
        return Err(ApiError::invalid("header", "must not be true for JSON lines, which have no header"));
    }
    let header = wish.header.unwrap_or(upload.choice.header);
    Ok(ColumnChoice { column: wish.column.or(upload.choice.column), header })
}

/// Deletes an upload. The job created from it stays.
pub async fn delete_upload(app: &App, caller: &Caller, id: UploadId) -> Result<DeletedUpload, ApiError> {
    let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    let (org, no) = (upload.org, upload.no);
    let gone = app.store.write(|tx| uploads::mark_gone(tx, org, no).scope_boxed()).await?;
    if gone { Ok(DeletedUpload { id, deleted: true }) } else { Err(ApiError::not_found()) }
}

/// Forecasts the results and cost of an upload's job, without probing any MX host.
pub async fn forecast_upload(app: &App, caller: &Caller, id: UploadId) -> Result<Forecast, ApiError> {
    let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    let upload = counted(app, upload).await?;
    let verifier = if upload.test { &*app.sandbox } else { &*app.live };
    let basis = Basis { store: &app.store, plans: &app.config.plans, verifier, now: app.now() };
    forecast::of(basis, &upload).await
}

/// Returns the retention of an organization's uploads, in days: at most that of its jobs.
async fn keep_days(app: &App, conn: &mut Conn, org: OrgNo) -> Result<i64, ApiError> {
    let of_jobs = settings::read(conn, org).await?.retention_days;
    let days = app.config.uploads.keep_days;
    Ok(of_jobs.map_or(days, |of_jobs| of_jobs.min(days)))
}

/// Returns the upload with a current count of its column, because rows may have been erased.
async fn counted(app: &App, mut upload: Upload) -> Result<Upload, ApiError> {
    if upload.content.is_none() && upload.choice.column.is_some() {
        upload.content = count(&app.store, &upload, upload.choice, &app.places.counted).await?;
        if let Some(found) = &upload.content {
            let (org, no, choice) = (upload.org, upload.no, upload.choice);
            app.store.write(|tx| uploads::recount(tx, org, no, choice, found).scope_boxed()).await?;
        }
    }
    Ok(upload)
}
