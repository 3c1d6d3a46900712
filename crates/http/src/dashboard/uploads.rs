//! `/app/uploads`: files and pasted lists, before a job is created from them.

use std::sync::Arc;

use axum::Json;
use axum::extract::Request;
use axum::http::HeaderMap;
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

use crate::callers::idempotency;
use crate::callers::idempotency::run_once;
use crate::handler::{Answer, Asking, Call, Created, JsonBody, PathId, Refusal, answer, created};
use crate::request::submission::opener;

/// Receives a file or, with `source=input`, a pasted list.
pub(crate) async fn put_up(
    Call(app, caller): Call,
    Asking(query): Asking<UploadQuery>,
    request: Request,
) -> Created<UploadView> {
    created(receive_upload(&app, &caller, query, opener(request)).await)
}

/// Lists uploads that are not started or, with `job`, the upload of that job; includes the limits for new ones.
pub(crate) async fn list_uploads(Call(app, caller): Call, Asking(query): Asking<UploadsQuery>) -> Answer<Uploads> {
    answer(acts::list_uploads(&app, &caller, query).await)
}

/// Returns an upload with its first rows.
pub(crate) async fn get_upload(Call(app, caller): Call, PathId(id): PathId<UploadId>) -> Answer<UploadView> {
    answer(acts::get_upload(&app, &caller, id).await)
}

/// Chooses the column, and the meaning of the first row.
pub(crate) async fn choose(
    Call(app, caller): Call,
    PathId(id): PathId<UploadId>,
    JsonBody(wish): JsonBody<Choose>,
) -> Answer<UploadView> {
    answer(acts::choose_column(&app, &caller, id, wish).await)
}

/// Deletes an upload. The job created from it stays.
pub(crate) async fn delete_upload(Call(app, caller): Call, PathId(id): PathId<UploadId>) -> Answer<DeletedUpload> {
    answer(acts::delete_upload(&app, &caller, id).await)
}

/// Forecasts the results and cost of an upload's job, without any probe.
pub(crate) async fn get_forecast(Call(app, caller): Call, PathId(id): PathId<UploadId>) -> Answer<Forecast> {
    answer(acts::forecast_upload(&app, &caller, id).await)
}

/// Creates the job once: a repeated start returns the same job. With an `Idempotency-Key`, so does a start of the same file that
/// was uploaded again. A start that names a column never creates a job from another one.
pub(crate) async fn start(
    Call(app, caller): Call,
    PathId(id): PathId<UploadId>,
    headers: HeaderMap,
    seen: Option<JsonBody<Choose>>,
) -> Result<Response, Refusal> {
    let seen = seen.map(|JsonBody(seen)| seen).unwrap_or_default();
    let work = move |app: Arc<App>, caller: Caller, once: Once| async move {
        start_upload(&app, &caller, id, &once, seen).await.map(Json).map_err(Refusal).into_response()
    };
    let Some(key) = idempotency::key(&headers)? else {
        // A disconnecting browser does not interrupt it.
        return Ok(tokio::spawn(work(app, caller, Once::unkeyed())).await.map_err(ApiError::server_error)?);
    };
    let body_hash = hash_upload(&app, &caller, id, seen).await?;
    let call = KeyedCall { path: KEYED_START.to_owned(), key, body_hash };
    run_once(app.clone(), Some(caller.clone()), call, move |once| work(app, caller, once)).await
}
