//! Lists, reads and cancels an organization's jobs, regardless of their origin.
//!
//! Jobs of other organizations, and live jobs for test keys or test jobs for live keys, are not found; both give the same
//! error.

use probity_account::id::JobId;
use probity_account::scope::Scope;
use probity_backend::jobs::announce;
use probity_backend::lists::progress::JobProgress;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::jobs::batch::{BatchCancelled, BatchStatus};
use probity_contract::published::jobs::{JobView, JobsQuery};
use probity_mail::time::Millis;
use probity_store::jobs::{self, JobFilter, JobState};
use probity_store::work;

use crate::app::App;
use crate::callers::admission::running;
use crate::callers::caller::Caller;
use crate::callers::once::Once;
use crate::lists::progress::get_progress;

/// Lists jobs, newest first.
pub async fn list_jobs(app: &App, caller: &Caller, query: JobsQuery) -> Result<List<JobView>, ApiError> {
    let JobsQuery { source, status, created_after, created_before, page } = query;
    let filter = JobFilter { test: caller.is_test(), source, status, created_from: created_after, created_before };
    let asked = AskedPage::of(&app.cursors, &page, caller.org_id().to_string(), list_name(&filter))?;
    let mut conn = app.store.read().await?;
    let found = jobs::page(&mut conn, caller.org(), &filter, asked.after, asked.at_most()).await?;
    Ok(asked.list(found, |job| (job.created_at, job.no), |job| JobView::of(&job, None)))
}

/// Returns the name of a filtered list in its cursors, in which filters cannot be confused with each other.
pub(crate) fn list_name(filter: &JobFilter) -> String {
    let JobFilter { test, source, status, created_from, created_before } = filter;
    let ms = |at: &Option<Millis>| at.map(|at| at.0);
    format!("/v1/jobs {test} {source:?} {status:?} {:?} {:?}", ms(created_from), ms(created_before))
}

/// Returns a job and, once it is completed, its rows by reason.
pub async fn get_job(app: &App, caller: &Caller, id: JobId) -> Result<JobView, ApiError> {
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    let counted = match job.state {
        JobState::Completed => jobs::reasons(&mut conn, job.org, job.no).await?,
        _ => Vec::new(),
    };
    Ok(JobView::of(&job, Some(&counted)))
}

/// Returns the status of a job with its counters.
pub async fn get_job_status(app: &App, caller: &Caller, id: JobId) -> Result<BatchStatus, ApiError> {
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    Ok((&job).into())
}

/// Cancels a list and returns its progress. Completed lists, and lists of a restricted organization, cannot be canceled.
pub async fn cancel_list(app: &App, caller: &Caller, id: JobId) -> Result<JobProgress, ApiError> {
    running(app, caller)?;
    if cancel_job(app, caller, id, &Once::unkeyed()).await?.status != BatchCancelled::SUCCESS {
        return Err(ApiError::conflict("the list is already completed or stopped"));
    }
    get_progress(app, caller, id).await
}

/// Refuses to end a run of a connection for a caller who may not change integrations.
pub(super) async fn may_end(app: &App, caller: &Caller, id: JobId) -> Result<(), ApiError> {
    let needed = Scope::WriteIntegrations;
    if caller.scopes().contains(needed) {
        return Ok(());
    }
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    if job.integration.is_none() {
        return Ok(());
    }
    let message = format!("the job is a run of a connection: {}", caller.lacks(needed));
    Err(ApiError::forbidden_scope(message))
}

/// Cancels a job. If it is a run of a connection, the caller needs to be allowed to change integrations too.
///
/// One transaction stops the job, releases the credits of unverified rows, writes the deliveries about its end and stores
/// the response. Verdicts that arrive later are not settled, so nothing more is charged.
pub async fn cancel_job(app: &App, caller: &Caller, id: JobId, once: &Once) -> Result<BatchCancelled, ApiError> {
    may_end(app, caller, id).await?;
    let now = app.now();
    let cancelled = app.store.write(work!(|tx| {
        let status = match jobs::cancel(tx, caller.org(), id, caller.is_test(), now).await? {
            Ok(closed) => {
                announce(tx, &closed, now).await?;
                BatchCancelled::SUCCESS
            }
            Err(JobState::Completed) => "error",
            Err(_) => BatchCancelled::SUCCESS,
        };
        let shown = BatchCancelled { status };
        once.keep(tx, &shown).await?;
        Ok(shown)
    }));
    let shown = cancelled.await?;
    app.callbacks.wake();
    Ok(shown)
}
