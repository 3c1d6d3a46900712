//! `/v1/jobs`: the jobs of an organization, whoever or whatever started them.

pub(crate) mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_core::time::Millis;
use probity_store::jobs::{self, Filter, Job, JobNo, State as JobState};

use self::view::{JobView, SOURCES, STATUSES};
use crate::api::batch::Named;
use crate::api::timestamp::{NoTime, Timestamp};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::openapi::parameters::{JobPath, JobsParams};
use crate::page::{Binding, List, PerPage};
use crate::query::Query;

/// List the jobs
///
/// Newest first. Filters can be combined; a cursor belongs to the filters that it was given for.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "Verification",
    params(JobsParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "One page of jobs.", body = List<JobView>))
)]
pub(crate) async fn list_jobs(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Json<List<JobView>>, ApiError> {
    let per_page = PerPage::USUAL.wanted(&query)?;
    let filter = filter(&query, caller.is_test())?;
    let (org_id, list) = (caller.org_id().to_string(), list_name(&filter));
    let binding = Binding { org: &org_id, list: &list };
    let after = app.cursors.wanted(&query, binding)?.map(|place| place_of(&place)).transpose()?;
    let mut conn = app.store.read().await?;
    let mut found = jobs::page(&mut conn, caller.org(), &filter, after, i64::from(per_page) + 1).await?;
    let wanted = usize::try_from(per_page).unwrap_or(usize::MAX);
    let more = found.len() > wanted;
    found.truncate(wanted);
    let next = found.last().filter(|_| more).map(|last| app.cursors.seal(binding, &place(last)));
    Ok(Json(List::new(found.iter().map(|job| JobView::of(job, None)).collect(), next)))
}

fn filter(query: &Query, test: bool) -> Result<Filter, ApiError> {
    Ok(Filter {
        test,
        source: query.one_of("source", &SOURCES)?,
        status: query.one_of("status", &STATUSES)?,
        created_from: time(query, "created_after")?,
        created_before: time(query, "created_before")?,
    })
}

fn time(query: &Query, name: &str) -> Result<Option<Millis>, ApiError> {
    let Some(text) = query.text(name)?.filter(|text| !text.is_empty()) else { return Ok(None) };
    text.parse().map(|Timestamp(at)| Some(at)).map_err(|error: NoTime| ApiError::invalid(name, error))
}

/// The name of a list in its cursors: no text of a filter can be taken for another's.
fn list_name(filter: &Filter) -> String {
    let Filter { test, source, status, created_from, created_before } = filter;
    let ms = |at: &Option<Millis>| at.map(|at| at.0);
    format!("/v1/jobs {test} {source:?} {status:?} {:?} {:?}", ms(created_from), ms(created_before))
}

/// A job's place in the list.
fn place(job: &Job) -> [u8; 16] {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&job.created_at.0.to_be_bytes());
    place[8..].copy_from_slice(&job.no.0.to_be_bytes());
    place
}

fn place_of(place: &[u8]) -> Result<(Millis, JobNo), ApiError> {
    let number = |bytes: &[u8]| bytes.try_into().map(i64::from_be_bytes).ok();
    let both = place.split_at_checked(8).and_then(|(at, no)| Some((Millis(number(at)?), JobNo(number(no)?))));
    both.ok_or_else(|| ApiError::invalid("next", "must be a cursor that this list has given"))
}

/// Look at a job
///
/// A completed job shows its results, and how many rows have which reason. This is also what a batch's `webhook_url` is sent.
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
) -> Result<Json<JobView>, ApiError> {
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    let counted = match job.state {
        JobState::Completed => jobs::reasons(&mut conn, job.org, job.no).await?,
        _ => Vec::new(),
    };
    Ok(Json(JobView::of(&job, Some(&counted))))
}
