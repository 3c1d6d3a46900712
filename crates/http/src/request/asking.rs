//! The query of a request, as handlers take it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use probity_contract::query::{FromQuery, Query};

use crate::error::Refusal;

/// Takes what a route reads of its query.
pub struct Asking<T = Query>(pub T);

impl<T: FromQuery, S: Send + Sync> FromRequestParts<S> for Asking<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        Ok(Self(T::from_query(&Query::of(&parts.uri))?))
    }
}
