//! The caller of a route, as the guard found it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use probity_contract::error::ApiError;
use probity_service::callers::caller::Caller;

use crate::error::Refusal;

/// Takes the caller. An extractor on routes of the API, under `/v1` and under `/app/v1`.
#[derive(Clone, Debug)]
pub(crate) struct CalledBy(pub(crate) Caller);

impl<S: Sync> FromRequestParts<S> for CalledBy {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let caller = parts.extensions.get::<Caller>().cloned().map(Self);
        Ok(caller.ok_or_else(|| ApiError::server_error("a handler needs the caller, but its route has no guard"))?)
    }
}
