//! `GET /v1/batch-verify/{id}/status`: how far a job is.

use probity_account::id::JobId;
use probity_contract::parameters::JobPath;
use probity_contract::published::jobs::batch::BatchStatus;
use probity_service::jobs::acts;

use crate::handler::{Answer, Call, PathId, answer};

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
pub(crate) async fn get_batch_status(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<BatchStatus> {
    answer(acts::get_job_status(&app, &caller, id).await)
}
