//! Ids in paths.
//!
//! An id is one segment, percent-encoded in whatever way. What cannot be one is not found, as is one of another organization:
//! nobody learns which ids there could be.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::error::ApiError;

/// The id in the path of a route that has one. 404 where it cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct PathId<T>(pub T);

impl<T: FromStr + Send, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        text.parse().map(Self).map_err(|_| ApiError::not_found())
    }
}
