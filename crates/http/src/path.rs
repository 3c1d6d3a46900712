//! Ids in paths.
//!
//! An id is one segment, percent-encoded in whatever way. What cannot be one is not found, as is one of another organization:
//! nobody learns which ids there could be.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use probity_service::error::ApiError;

use crate::error::Refusal;

/// The id in the path of a route that has one. 404 where it cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct PathId<T>(pub T);

impl<T: FromStr + Send, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        Ok(text.parse().map(Self).map_err(|_| ApiError::not_found())?)
    }
}

/// The two ids in the path of a route that has two. 404 where one of them cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct PathIds<A, B>(pub A, pub B);

impl<A: FromStr + Send, B: FromStr + Send, S: Send + Sync> FromRequestParts<S> for PathIds<A, B> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let both = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((first, second)) = both.map_err(|_| ApiError::not_found())?;
        match (first.parse(), second.parse()) {
            (Ok(first), Ok(second)) => Ok(Self(first, second)),
            _ => Err(ApiError::not_found().into()),
        }
    }
}
