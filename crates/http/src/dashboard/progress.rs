//! `GET /app/jobs/{id}/progress`: how far a list is. Events carry the same.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_backend::lists::progress::JobProgress;
use probity_service::app::App;
use probity_service::lists::progress;

use crate::api::batch::NamedJob;
use crate::callers::auth::CalledBy;
use crate::error::Refusal;

/// Where a job stands, once: for browsers that get no events.
pub(crate) async fn get_progress(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    NamedJob(id): NamedJob,
) -> Result<Json<JobProgress>, Refusal> {
    Ok(Json(progress::get_progress(&app, &caller, id).await?))
}
