//! `/v1/jobs`: jobs of an organization, regardless of their origin.

use probity_account::id::JobId;
use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::JobPath;
use probity_contract::published::jobs::{JobView, JobsQuery};
use probity_service::jobs::acts;

use crate::handler::{Answer, Asking, Call, PathId, answer};

/// List jobs
///
/// Lists jobs, newest first. Filters can be combined; a cursor is valid only with the filters that it was returned for.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "Verification",
    params(PageQuery, JobsQuery),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "A page of jobs.", body = List<JobView>))
)]
pub(crate) async fn list_jobs(Call(app, caller): Call, Asking(query): Asking<JobsQuery>) -> Answer<List<JobView>> {
    answer(acts::list_jobs(&app, &caller, query).await)
}

/// Get a job
///
/// Returns the job; once it is completed, with its results and the number of rows per reason. Callbacks to a job's
/// `webhook_url` have the same body.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    tag = "Verification",
    params(JobPath),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "The job.", body = JobView))
)]
pub(crate) async fn get_job(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<JobView> {
    answer(acts::get_job(&app, &caller, id).await)
}
