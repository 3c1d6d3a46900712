//! `/v1/batch-verify`: jobs for lists of addresses.
//!
//! A job of another organization or of the other mode, and an unreadable ID, all get the same 404.

pub(crate) mod download;
pub(crate) mod results;
pub(crate) mod submit;

use probity_account::id::JobId;
use probity_contract::parameters::JobPath;
use probity_contract::published::jobs::batch::{BatchCancelled, BatchStatus};
use probity_service::jobs::acts;

use crate::handler::{Answer, Call, NoBody, PathId, RunOnce, answer};

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

/// Cancel a job
///
/// Stops the job. Releases the credits of unverified rows, then responds. Verified rows keep their verdicts. A completed
/// job cannot be canceled: `status` is `error`. A job that is a run of a connection also requires `write:integrations`.
#[utoipa::path(
    post,
    path = "/v1/batch-verify/{id}/cancel",
    tag = "Verification",
    params(JobPath),
    security(("bearer" = ["write:jobs"])),
    responses((status = 200, description = "Outcome of the cancellation.", body = BatchCancelled))
)]
pub(crate) async fn cancel_batch(
    Call(app, caller): Call,
    PathId(id): PathId<JobId>,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<BatchCancelled> {
    answer(acts::cancel_job(&app, &caller, id, &once).await)
}
