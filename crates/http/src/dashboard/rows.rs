//! `GET /app/jobs/{id}/rows`: rows of a list by what they say.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::lists::slice::{RowsQuery, RowsSlice, find_rows};

use crate::api::batch::NamedJob;
use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::asking::Asking;

/// Rows of a list.
pub(crate) async fn get_rows(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    NamedJob(id): NamedJob,
    Asking(query): Asking<RowsQuery>,
) -> Result<Json<RowsSlice>, Refusal> {
    Ok(Json(find_rows(&app, &caller, id, query).await?))
}
