//! Extractors and response types of handlers.

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

/// State of the service.
pub(crate) type AppState = State<Arc<App>>;

/// Extracts the service, and the caller that the guard found. For routes of the API, under `/v1` and `/app/v1`.
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

/// Body of a request that needs none: a body that is sent anyway must be JSON within the size limit.
pub(crate) type NoBody = Option<JsonBody<IgnoredAny>>;

/// Extracts the ID in the path of a route, several as a tuple, or parameters of the path by name. Each is one segment in any
/// percent-encoding. An invalid ID gets 404, like one of another organization, so that responses do not reveal which IDs exist.
pub(crate) struct PathId<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(id) = Path::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        Ok(Self(id))
    }
}

/// Extracts a route's query.
pub struct Asking<T = Query>(pub T);

impl<T: FromQuery, S: Send + Sync> FromRequestParts<S> for Asking<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        Ok(Self(T::from_query(&Query::of(&parts.uri))?))
    }
}

/// JSON response of a handler.
pub(crate) type Answer<T> = Result<Json<T>, Refusal>;

/// Response of a handler that creates something.
pub(crate) type Created<T> = Result<(StatusCode, Json<T>), Refusal>;

/// Responds with the result of an act.
pub(crate) fn answer<T>(shown: Result<T, ApiError>) -> Answer<T> {
    Ok(Json(shown?))
}

/// Responds with the result of an act, which completes even if the client disconnects.
pub(crate) async fn answer_whole<T: Send + 'static>(
    act: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Answer<T> {
    answer(tokio::spawn(act.in_current_span()).await.map_err(ApiError::server_error)?)
}

/// Responds with the result of an act that creates something.
pub(crate) fn created<T>(made: Result<T, ApiError>) -> Created<T> {
    Ok((StatusCode::CREATED, Json(made?)))
}

/// Makes GET the only method of a path. HEAD is excluded (RFC 9110 §15.5.6), because its response would have to be paid for.
pub(crate) fn only_get(methods: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    let refused = async || ([(header::ALLOW, "GET")], Refusal(ApiError::of(Code::MethodNotAllowed)));
    methods.head(refused).fallback(refused)
}
