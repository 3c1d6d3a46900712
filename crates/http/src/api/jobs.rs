//! `/v1/jobs`: the jobs of an organization, whoever or whatever started them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::page::{Asked, List};
use probity_service::published::jobs::{JobView, SOURCES, STATUSES};
use probity_service::query::Query;
use probity_service::timestamp::{NoTime, Timestamp};
use probity_store::jobs::{self, Filter, State as JobState};

use crate::api::batch::Named;
use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::{JobPath, JobsParams};

/// List jobs
///
/// Lists jobs, newest first. Filters can be combined; a cursor is valid only with the filters that it was returned for.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "Verification",
    params(JobsParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "A page of jobs.", body = List<JobView>))
)]
pub(crate) async fn list_jobs(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<List<JobView>>, Refusal> {
    let filter = filter(&query, caller.is_test())?;
    let asked = Asked::of(&app.cursors, &query, caller.org_id().to_string(), list_name(&filter))?;
    let mut conn = app.store.read().await?;
    let found = jobs::page(&mut conn, caller.org(), &filter, asked.after, asked.at_most()).await?;
    Ok(Json(asked.list(found, |job| (job.created_at, job.no), |job| JobView::of(&job, None))))
}

fn filter(query: &Query, test: bool) -> Result<Filter, Refusal> {
    Ok(Filter {
        test,
        source: query.one_of("source", &SOURCES)?,
        status: query.one_of("status", &STATUSES)?,
        created_from: time(query, "created_after")?,
        created_before: time(query, "created_before")?,
    })
}

fn time(query: &Query, name: &str) -> Result<Option<Millis>, Refusal> {
    let Some(text) = query.text(name)?.filter(|text| !text.is_empty()) else { return Ok(None) };
    Ok(text.parse().map(|Timestamp(at)| Some(at)).map_err(|error: NoTime| ApiError::invalid(name, error))?)
}

/// The name of a list in its cursors: no text of a filter can be taken for another's.
fn list_name(filter: &Filter) -> String {
    let Filter { test, source, status, created_from, created_before } = filter;
    let ms = |at: &Option<Millis>| at.map(|at| at.0);
    format!("/v1/jobs {test} {source:?} {status:?} {:?} {:?}", ms(created_from), ms(created_before))
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
pub(crate) async fn get_job(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named,
) -> Result<Json<JobView>, Refusal> {
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    let counted = match job.state {
        JobState::Completed => jobs::reasons(&mut conn, job.org, job.no).await?,
        _ => Vec::new(),
    };
    Ok(Json(JobView::of(&job, Some(&counted))))
}
