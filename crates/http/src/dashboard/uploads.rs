//! `/app/uploads`: files and pasted lists, before a job is made of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use probity_account::id::UploadId;
use probity_backend::uploads::forecast::Forecast;
use probity_backend::uploads::view::{Choose, DeletedUpload, UploadView, Uploads};
use probity_contract::error::ApiError;
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::{KeyedCall, Once};
use probity_service::uploads::acts::{self, UploadsQuery};
use probity_service::uploads::receive::{UploadQuery, receive_upload};
use probity_service::uploads::start::{KEYED_START, hash_upload, start_upload};

use crate::callers::auth::CalledBy;
use crate::callers::idempotency;
use crate::callers::idempotency::run_once;
use crate::error::Refusal;
use crate::request::asking::Asking;
use crate::request::body::JsonBody;
use crate::request::path::PathId;
use crate::request::submission::opener;

/// Takes a file, or with `source=input` a pasted list.
pub(crate) async fn put_up(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    Asking(query): Asking<UploadQuery>,
    request: Request,
) -> Result<(StatusCode, Json<UploadView>), Refusal> {
    let view = receive_upload(&app, &caller, query, opener(request)).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Which wait to be started, or with `job` the one that this job was made of; and what may be put up.
pub(crate) async fn list_uploads(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    Asking(query): Asking<UploadsQuery>,
) -> Result<Json<Uploads>, Refusal> {
    Ok(Json(acts::list_uploads(&app, &caller, query).await?))
}

/// One, with its first rows.
pub(crate) async fn get_upload(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathId(id): PathId<UploadId>,
) -> Result<Json<UploadView>, Refusal> {
    Ok(Json(acts::get_upload(&app, &caller, id).await?))
}

/// Reads another column, or the first row in another way.
pub(crate) async fn choose(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathId(id): PathId<UploadId>,
    JsonBody(wish): JsonBody<Choose>,
) -> Result<Json<UploadView>, Refusal> {
    Ok(Json(acts::choose_column(&app, &caller, id, wish).await?))
}

/// Removes one. The job that was made of it stays.
pub(crate) async fn delete_upload(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathId(id): PathId<UploadId>,
) -> Result<Json<DeletedUpload>, Refusal> {
    Ok(Json(acts::delete_upload(&app, &caller, id).await?))
}

/// What a job of it would come to, as far as that can be said before anybody is asked.
pub(crate) async fn get_forecast(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathId(id): PathId<UploadId>,
) -> Result<Json<Forecast>, Refusal> {
    Ok(Json(acts::forecast_upload(&app, &caller, id).await?))
}

/// Creates the job once: a repeated start returns the same job. With an `Idempotency-Key`, so does a start of the same file that was
/// uploaded again. A start that names a column never creates a job from another one.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathId(id): PathId<UploadId>,
    headers: HeaderMap,
    seen: Option<JsonBody<Choose>>,
) -> Result<Response, Refusal> {
    let seen = seen.map(|JsonBody(seen)| seen).unwrap_or_default();
    let work = move |app: Arc<App>, caller: Caller, once: Once| async move {
        start_upload(&app, &caller, id, &once, seen).await.map(Json).map_err(Refusal).into_response()
    };
    let Some(key) = idempotency::key(&headers)? else {
        // A browser that goes away does not leave it half-done.
        return Ok(tokio::spawn(work(app, caller, Once::unkeyed())).await.map_err(ApiError::server_error)?);
    };
    let body_hash = hash_upload(&app, &caller, id, seen).await?;
    let call = KeyedCall { path: KEYED_START.to_owned(), key, body_hash };
    run_once(app.clone(), caller.clone(), call, move |once| work(app, caller, once)).await
}
