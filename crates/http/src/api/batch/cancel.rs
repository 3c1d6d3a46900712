//! `POST /v1/batch-verify/{id}/cancel`: an end before the end.

use probity_account::id::JobId;
use probity_contract::parameters::JobPath;
use probity_contract::published::jobs::batch::BatchCancelled;
use probity_service::jobs::acts;
use serde::de::IgnoredAny;

use crate::handler::{Answer, Call, JsonBody, PathId, RunOnce, answer};

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
    // Nothing is to be said; what is said all the same must be JSON.
    _: Option<JsonBody<IgnoredAny>>,
) -> Answer<BatchCancelled> {
    answer(acts::cancel_job(&app, &caller, id, &once).await)
}
