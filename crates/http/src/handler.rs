//! What handlers take from a request, and what they answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::routing::MethodRouter;
use probity_contract::error::{ApiError, Code};
use probity_contract::query::{FromQuery, Query};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use serde::de::{DeserializeOwned, IgnoredAny};
use tracing::Instrument as _;

pub(crate) use crate::callers::idempotency::RunOnce;
pub(crate) use crate::error::Refusal;
pub(crate) use crate::request::body::JsonBody;

/// The service.
pub(crate) type AppState = State<Arc<App>>;

/// Takes the service and the caller, as the guard found it. An extractor on routes of the API, under `/v1` and under `/app/v1`.
pub(crate) struct Call(pub(crate) Arc<App>, pub(crate) Caller);

impl<S: Sync> FromRequestParts<S> for Call
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let caller = parts.extensions.get::<Caller>().cloned();
        let unguarded = || ApiError::server_error("a handler needs the caller, but its route has no guard");
        Ok(Self(Arc::from_ref(state), caller.ok_or_else(unguarded)?))
    }
}

/// Body of a request that needs none: what is sent all the same must be JSON and within the size limit.
pub(crate) type NoBody = Option<JsonBody<IgnoredAny>>;

/// Takes the ID in the path of a route, several as a tuple, or parameters of the path by name. Each is one segment in any
/// percent-encoding. An invalid ID gets 404, like one of another organization, so that nobody learns which IDs exist.
pub(crate) struct PathId<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(id) = Path::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        Ok(Self(id))
    }
}

/// Takes what a route reads of its query.
pub struct Asking<T = Query>(pub T);

impl<T: FromQuery, S: Send + Sync> FromRequestParts<S> for Asking<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        Ok(Self(T::from_query(&Query::of(&parts.uri))?))
    }
}

/// What a handler answers in JSON.
pub(crate) type Answer<T> = Result<Json<T>, Refusal>;

/// What a handler answers that has made something.
pub(crate) type Created<T> = Result<(StatusCode, Json<T>), Refusal>;

/// Answers with what an act returned.
pub(crate) fn answer<T>(shown: Result<T, ApiError>) -> Answer<T> {
    Ok(Json(shown?))
}

/// Answers with what an act returned, which a client that goes away does not leave half-done.
pub(crate) async fn answer_whole<T: Send + 'static>(
    act: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Answer<T> {
    answer(tokio::spawn(act.in_current_span()).await.map_err(ApiError::server_error)?)
}

/// Answers with what an act has made.
pub(crate) fn created<T>(made: Result<T, ApiError>) -> Created<T> {
    Ok((StatusCode::CREATED, Json(made?)))
}

/// Makes GET the only method of a path. HEAD is none (RFC 9110 §15.5.6): its answer would have to be paid for.
pub(crate) fn only_get(methods: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    let refused = async || ([(header::ALLOW, "GET")], Refusal(ApiError::of(Code::MethodNotAllowed)));
    methods.head(refused).fallback(refused)
}
