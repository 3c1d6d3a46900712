//! `/app/uploads`: files and pasted lists, before a job is made of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use probity_account::id::{JobId, UploadId};
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::query::Query;
use probity_service::uploads::about::{About, Kind};
use probity_service::uploads::cells;
use probity_service::uploads::count::count;
use probity_service::uploads::forecast;
use probity_service::uploads::forecast::{Basis, Forecast};
use probity_service::uploads::view::{Choose, Limits, PREVIEW_ROWS, Started, UploadView, Uploads};
use probity_store::jobs::JobNo;
use probity_store::uploads::{self, Change, Choice, NewUpload, Upload};
use probity_store::{Conn, OrgNo, ScopedFutureExt as _, StoreError, settings};
use serde_json::{Value, json};

use crate::asking::Asking;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::idempotency;
use crate::idempotency::{Call, Once, run_once};
use crate::path::PathId;
use crate::uploads::receive::{Coming, receive};
use crate::uploads::start::Wanted;

/// Bytes of a file's name.
const NAME_BYTES_MAX: usize = 255;
/// How often a change is tried that others are ahead of.
const CHANGES_MAX: usize = 4;

/// Takes a file, or with `source=input` a pasted list.
pub(crate) async fn put_up(State(app): State<Arc<App>>, caller: Caller, request: Request) -> Result<Response, Refusal> {
    let query = Query::of(request.uri());
    let name = query.text("name")?.unwrap_or_default().into_owned();
    if name.len() > NAME_BYTES_MAX {
        return Err(ApiError::invalid("name", format_args!("may have at most {NAME_BYTES_MAX} bytes")).into());
    }
    let source = match query.one_of("source", &["csv", "input"])?.as_deref() {
        Some("input") => "input",
        _ => "csv",
    };
    let sheet = query.text("sheet")?.filter(|sheet| !sheet.is_empty()).map(std::borrow::Cow::into_owned);
    let now = app.now();
    let new =
        NewUpload { org: caller.org(), id: probity_service::random::id(now), source, user: caller.user(), at: now };
    let id = receive(&app, Coming { new, name, sheet }, request).await?;
    let view = shown(&app, &caller, id).await?;
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

/// Which wait to be started, or with `job` the one that this job was made of; and what may be put up.
pub(crate) async fn list_uploads(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Response, Refusal> {
    let job = query.text("job")?.filter(|job| !job.is_empty()).map(|job| job.parse::<JobId>()).transpose();
    let job = job.map_err(|_| ApiError::invalid("job", "must be a job ID"))?;
    let config = app.config.uploads;
    let mut conn = app.store.read().await?;
    let keep_days = keep_days(&app, &mut conn, caller.org()).await?;
    let all = match job {
        Some(job) => uploads::of_job(&mut conn, caller.org(), JobNo::of_id(job)).await?.into_iter().collect(),
        None => uploads::list(&mut conn, caller.org(), config.at_once).await?,
    };
    drop(conn);
    let data = all.into_iter().map(|upload| UploadView::of(upload, keep_days, None)).collect::<Result<_, _>>()?;
    let limits = Limits {
        bytes: config.body_max,
        rows: app.config.batch_rows_max,
        uploads: config.at_once,
        workbooks: cfg!(feature = "xlsx"),
    };
    Ok(Json(Uploads { data, limits }).into_response())
}

/// One, with its first rows.
pub(crate) async fn get_upload(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UploadId>,
) -> Result<Json<UploadView>, Refusal> {
    Ok(Json(shown(&app, &caller, id).await?))
}

/// Reads another column, or the first row in another way, and counts anew. What somebody else changed while that was counted
/// stays, and is counted with it.
pub(crate) async fn choose(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UploadId>,
    JsonBody(wish): JsonBody<Choose>,
) -> Result<Json<UploadView>, Refusal> {
    for _ in 0..CHANGES_MAX {
        let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id).await?;
        if upload.job.is_some() {
            return Err(ApiError::conflict("this file already has a job").into());
        }
        let choice = chosen(&upload, &wish)?;
        if choice == upload.choice || change(&app, &upload, choice).await? {
            return Ok(Json(shown(&app, &caller, id).await?));
        }
    }
    Err(ApiError::conflict("the file was changed at the same time; reload and try again").into())
}

/// Changes the choice; false where the upload is not read any more as it was.
async fn change(app: &App, upload: &Upload, to: Choice) -> Result<bool, Refusal> {
    let found = count(&app.store, upload, to).await?;
    let (org, no, now) = (upload.org, upload.no, app.now());
    let change = Change { from: upload.choice, to, content: found.as_ref() };
    let changed = app.store.write(|tx| uploads::choose(tx, org, no, &change, now).scope_boxed()).await;
    match changed {
        Ok(()) => Ok(true),
        Err(StoreError::Conflict) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn chosen(upload: &Upload, wish: &Choose) -> Result<Choice, Refusal> {
    let about = About::of(&upload.about)?;
    let width = i64::try_from(about.width).unwrap_or(i64::MAX);
    if let Some(column) = wish.column
        && !(0..width).contains(&column)
    {
        return Err(ApiError::invalid("column", format_args!("must be a number from 0 to {}", width - 1)).into());
    }
    if wish.header == Some(true) && about.kind == Kind::Jsonl {
        return Err(ApiError::invalid("header", "must not be true for JSON lines, which have no header").into());
    }
    let header = wish.header.unwrap_or(upload.choice.header);
    Ok(Choice { column: wish.column.or(upload.choice.column), header })
}

/// Removes one. The job that was made of it stays.
pub(crate) async fn delete_upload(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UploadId>,
) -> Result<Json<Value>, Refusal> {
    let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    let (org, no) = (upload.org, upload.no);
    let gone = app.store.write(|tx| uploads::mark_gone(tx, org, no).scope_boxed()).await?;
    if gone { Ok(Json(json!({ "id": id, "deleted": true }))) } else { Err(ApiError::not_found().into()) }
}

/// What a job of it would come to, as far as that can be said before anybody is asked.
pub(crate) async fn get_forecast(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UploadId>,
) -> Result<Json<Forecast>, Refusal> {
    let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    let upload = counted(&app, upload).await?;
    let basis = Basis { store: &app.store, plans: &app.config.plans, live: &*app.live, now: app.now() };
    Ok(Json(forecast::of(basis, &upload).await?))
}

/// Makes the job, once: whoever starts it again gets the same one. With an `Idempotency-Key` so does whoever puts the same file up
/// again and starts that. Whoever says which column they have looked at gets no job of another one.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UploadId>,
    headers: HeaderMap,
    seen: Option<JsonBody<Choose>>,
) -> Result<Response, Refusal> {
    let wanted = Wanted { id, seen: seen.map(|JsonBody(seen)| seen).unwrap_or_default() };
    let work = move |app: Arc<App>, caller: Caller, once: Once| async move {
        let started = super::start::start(&app, &caller, &wanted, &once).await;
        started.map(|id| Json(Started { id })).into_response()
    };
    let Some(key) = idempotency::key(&headers)? else {
        // A browser that goes away does not leave it half-done.
        return Ok(tokio::spawn(work(app, caller, Once::unkeyed())).await.map_err(ApiError::server_error)?);
    };
    let body_hash = super::start::fingerprint(&app, &caller, &wanted).await?;
    let call = Call { path: "/app/uploads/start".to_owned(), key, body_hash };
    run_once(app.clone(), caller.clone(), call, move |once| work(app, caller, once)).await
}

async fn shown(app: &App, caller: &Caller, id: UploadId) -> Result<UploadView, Refusal> {
    let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    let upload = counted(app, upload).await?;
    let from = i64::from(upload.choice.header);
    let mut conn = app.store.read().await?;
    let rows = cells::rows(&mut conn, &upload, from, from + PREVIEW_ROWS).await?;
    let keep_days = keep_days(app, &mut conn, upload.org).await?;
    drop(conn);
    Ok(UploadView::of(upload, keep_days, Some(rows))?)
}

/// For how many days an organization's uploads are kept: no longer than its jobs.
async fn keep_days(app: &App, conn: &mut Conn, org: OrgNo) -> Result<i64, Refusal> {
    let of_jobs = settings::read(conn, org).await?.retention_days;
    let days = app.config.uploads.keep_days;
    Ok(of_jobs.map_or(days, |of_jobs| of_jobs.min(days)))
}

/// The upload with what is in its column: rows may have been erased since that was counted.
async fn counted(app: &App, mut upload: Upload) -> Result<Upload, Refusal> {
    if upload.content.is_none() && upload.choice.column.is_some() {
        upload.content = count(&app.store, &upload, upload.choice).await?;
        if let Some(found) = &upload.content {
            let (org, no, choice) = (upload.org, upload.no, upload.choice);
            app.store.write(|tx| uploads::recount(tx, org, no, choice, found).scope_boxed()).await?;
        }
    }
    Ok(upload)
}
