//! `/v1/batch-verify`: jobs for lists of addresses.
//!
//! A job that is another organization's, that was made with the other sort of key, or whose id cannot be read is not found:
//! the three look alike.

pub(crate) mod cancel;
pub(crate) mod download;
pub(crate) mod results;
pub(crate) mod status;
pub(crate) mod submit;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use probity_account::id::JobId;
use probity_contract::error::ApiError;

use crate::error::Refusal;

/// The job that a path names. An id that cannot be read is one that nobody has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedJob(pub(crate) JobId);

impl<S: Send + Sync> FromRequestParts<S> for NamedJob {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(id) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        Ok(id.parse().map(Self).map_err(|_| ApiError::not_found())?)
    }
}
