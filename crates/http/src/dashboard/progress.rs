//! `GET /app/jobs/{id}/progress`: how far a list is. Events carry the same.

use axum::Json;
use probity_backend::lists::progress::JobProgress;
use probity_service::lists::progress;

use crate::api::batch::NamedJob;
use crate::callers::caller::Call;
use crate::error::Answer;

/// Where a job stands, once: for browsers that get no events.
pub(crate) async fn get_progress(Call(app, caller): Call, NamedJob(id): NamedJob) -> Answer<JobProgress> {
    Ok(Json(progress::get_progress(&app, &caller, id).await?))
}
