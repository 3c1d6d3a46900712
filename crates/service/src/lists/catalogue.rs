//! Lists with what their owners see at a glance: name, tags and verdicts, also while they run.

use probity_account::id::JobId;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::jobs::{JobsQuery, status};
use probity_contract::timestamp::Timestamp;
use probity_store::jobs::{self, Job, JobFilter};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::jobs::acts::list_name;

/// List at a glance.
#[derive(Debug, Serialize)]
pub struct ListShown {
    id: JobId,
    status: &'static str,
    source: String,
    source_integration: Option<String>,
    name: Option<String>,
    tags: Vec<String>,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    /// Time at which its rows were removed.
    purged_at: Option<Timestamp>,
    rows: i64,
    processed: i64,
    passed: i64,
    undeliverable: i64,
    risky: i64,
    unknown: i64,
}

impl From<Job> for ListShown {
    fn from(job: Job) -> Self {
        let counts = job.counts;
        Self {
            id: job.id,
            status: status(job.state),
            source: job.source,
            source_integration: job.integration,
            name: job.title,
            tags: job.tags,
            created_at: job.created_at.into(),
            finished_at: job.finished_at.map(Into::into),
            purged_at: job.purged_at.map(Into::into),
            rows: job.rows,
            processed: counts.processed,
            passed: counts.passed,
            undeliverable: counts.undeliverable,
            risky: counts.risky,
            unknown: counts.unknown,
        }
    }
}

/// Lists an organization's lists with their names, newest first.
pub async fn list_named_lists(app: &App, caller: &Caller, query: JobsQuery) -> Result<List<ListShown>, ApiError> {
    let JobsQuery { source, status, created_after, created_before, page } = query;
    let filter = JobFilter { test: caller.is_test(), source, status, created_from: created_after, created_before };
    let asked = AskedPage::of(&app.cursors, &page, caller.org_id().to_string(), list_name(&filter))?;
    let mut conn = app.store.read().await?;
    let found = jobs::page(&mut conn, caller.org(), &filter, asked.after, asked.at_most()).await?;
    Ok(asked.list(found, |job| (job.created_at, job.no), ListShown::from))
}

/// Returns an organization's lists that have not ended, oldest first; at most `at_most`.
pub async fn open_lists(app: &App, caller: &Caller, at_most: i64) -> Result<Vec<ListShown>, ApiError> {
    let found = jobs::in_progress(&mut app.store.read().await?, caller.org(), caller.is_test(), at_most).await?;
    Ok(found.into_iter().map(ListShown::from).collect())
}
