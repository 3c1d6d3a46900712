//! `GET /v1/batch-verify/{id}/status`: how far a job is.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::published::batch::BatchStatus;
use probity_store::jobs;

use crate::api::batch::Named;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::JobPath;

/// Get job progress
///
/// Returns the status and, once processing has begun, the counters. Progress is `emailsProcessed / numImported`.
#[utoipa::path(
    get,
    path = "/v1/batch-verify/{id}/status",
    tag = "Verification",
    params(JobPath),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "Progress of the job.", body = BatchStatus))
)]
pub(crate) async fn get_batch_status(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named,
) -> Result<Json<BatchStatus>, Refusal> {
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    Ok(Json((&job).into()))
}
