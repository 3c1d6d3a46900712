//! `GET /app/jobs/{id}/rows`: rows of a list by what they say; `/{index}/origin`: what its file has besides.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_account::id::JobId;
use probity_service::app::App;
use probity_service::lists::origin::{RowOrigin, get_row_origin};
use probity_service::lists::slice::{RowsQuery, RowsSlice, find_rows};

use crate::api::batch::NamedJob;
use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::asking::Asking;
use crate::request::path::PathIds;

/// Rows of a list.
pub(crate) async fn get_rows(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    NamedJob(id): NamedJob,
    Asking(query): Asking<RowsQuery>,
) -> Result<Json<RowsSlice>, Refusal> {
    Ok(Json(find_rows(&app, &caller, id, query).await?))
}

/// The other columns of the file for a row.
pub(crate) async fn get_origin(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathIds(id, index): PathIds<JobId, i64>,
) -> Result<Json<RowOrigin>, Refusal> {
    Ok(Json(get_row_origin(&app, &caller, id, index).await?))
}
