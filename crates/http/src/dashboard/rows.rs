//! `GET /app/jobs/{id}/rows`: rows of a list by what they say; `/{index}/origin`: what its file has besides.

use axum::Json;
use probity_account::id::JobId;
use probity_service::lists::origin::{RowOrigin, get_row_origin};
use probity_service::lists::slice::{RowsQuery, RowsSlice, find_rows};

use crate::api::batch::NamedJob;
use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::asking::Asking;
use crate::request::path::PathIds;

/// Rows of a list.
pub(crate) async fn get_rows(
    Call(app, caller): Call,
    NamedJob(id): NamedJob,
    Asking(query): Asking<RowsQuery>,
) -> Answer<RowsSlice> {
    Ok(Json(find_rows(&app, &caller, id, query).await?))
}

/// The other columns of the file for a row.
pub(crate) async fn get_origin(Call(app, caller): Call, PathIds(id, index): PathIds<JobId, i64>) -> Answer<RowOrigin> {
    Ok(Json(get_row_origin(&app, &caller, id, index).await?))
}
