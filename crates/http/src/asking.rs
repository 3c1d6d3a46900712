//! The query of a request, as handlers take it.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use probity_service::query::Query;

/// Takes the query of a request; reads nothing of it.
pub struct Asking(pub Query);

impl<S: Send + Sync> FromRequestParts<S> for Asking {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(Query::of(&parts.uri)))
    }
}
