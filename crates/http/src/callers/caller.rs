//! The service and the caller of a route, as handlers take them.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::request::Parts;
use probity_contract::error::ApiError;
use probity_service::app::App;
use probity_service::callers::caller::Caller;

use crate::error::Refusal;

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
