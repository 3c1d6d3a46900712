//! Extracts IDs from paths.
//!
//! An ID is one path segment in any percent-encoding. An invalid ID gets 404, like one of another organization, so that nobody
//! learns which IDs exist.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use probity_contract::error::ApiError;

use crate::error::Refusal;

/// ID in the path of a route. An invalid one gets 404.
#[derive(Clone, Copy, Debug)]
pub struct PathId<T>(pub T);

impl<T: FromStr + Send, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        Ok(text.parse().map(Self).map_err(|_| ApiError::not_found())?)
    }
}

/// Two IDs in the path of a route. If one is invalid, the request gets 404.
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
