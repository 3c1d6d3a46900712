//! Lists with an overview for their owners: name, tags and verdicts, also while they run.

use probity_account::id::JobId;
use probity_backend::lists::progress::key_of_unnamed;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::parameters::SEARCH_TEXT_MAX;
use probity_contract::published::jobs::{JobsQuery, status};
use probity_contract::query::{FromQuery, Query};
use probity_contract::timestamp::Timestamp;
use probity_mail::time::Millis;
use probity_store::jobs::{self, Job, JobFilter, JobNo};
use probity_store::{Conn, OrgNo, StoreError};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::jobs::acts::list_name;

/// Lists read at a time while names are searched.
const STEP: i64 = 500;
/// Maximum number of steps of a search: names of older lists are not searched.
const STEPS_MAX: usize = 40;

#[derive(Clone, Default)]
pub struct ListsQuery {
    jobs: JobsQuery,
    name: NameFilter,
}

/// Conditions that the name and the tags of a list must meet. Empty ones are met by all lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameFilter {
    /// Part of the name or of a tag, in lower case.
    part: String,
    tag: String,
}

impl FromQuery for ListsQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let text = |name: &str| {
            let text = query.text(name)?.unwrap_or_default();
            let refused = || ApiError::invalid(name, format_args!("may have at most {SEARCH_TEXT_MAX} characters"));
            if text.chars().count() > SEARCH_TEXT_MAX { Err(refused()) } else { Ok(text.trim().to_owned()) }
        };
        let name = NameFilter { part: text("q")?.to_lowercase(), tag: text("tag")? };
        Ok(Self { jobs: JobsQuery::from_query(query)?, name })
    }
}

impl NameFilter {
    fn is_all(&self) -> bool {
        *self == Self::default()
    }

    fn takes(&self, job: &Job) -> bool {
        let has_part = |text: &String| text.to_lowercase().contains(&self.part);
        (self.part.is_empty() || job.title.iter().chain(&job.tags).any(has_part))
            && (self.tag.is_empty() || job.tags.contains(&self.tag))
    }
}

/// Overview of a list.
#[derive(Debug, Serialize)]
pub struct ListShown {
    id: JobId,
    status: &'static str,
    source: String,
    source_integration: Option<String>,
    name: Option<String>,
    /// Name of the key that submitted it, if it has no name itself.
    key: Option<String>,
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

impl ListShown {
    fn of(job: Job, key: Option<String>) -> Self {
        let counts = job.counts;
        Self {
            id: job.id,
            status: status(job.state),
            source: job.source,
            source_integration: job.integration,
            name: job.title,
            key,
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
pub async fn list_named_lists(app: &App, caller: &Caller, query: ListsQuery) -> Result<List<ListShown>, ApiError> {
    let ListsQuery { jobs: query, name } = query;
    let JobsQuery { source, status, created_after, created_before, page } = query;
    let filter = JobFilter { test: caller.is_test(), source, status, created_from: created_after, created_before };
    let asked =
        AskedPage::of(&app.cursors, &page, caller.org_id().to_string(), format!("{} {name:?}", list_name(&filter)))?;
    let mut conn = app.store.read().await?;
    let found = if name.is_all() {
        jobs::page(&mut conn, caller.org(), &filter, asked.after, asked.at_most()).await?
    } else {
        search(&mut conn, caller.org(), (&filter, &name), asked.after, asked.at_most()).await?
    };
    let named = with_keys(&mut conn, found).await?;
    Ok(asked.list(named, |(job, _)| (job.created_at, job.no), |(job, key)| ListShown::of(job, key)))
}

/// Reads lists until `at_most` of them match the name. Names have no index, and databases differ in their notion of upper case.
async fn search(
    conn: &mut Conn,
    org: OrgNo,
    (filter, name): (&JobFilter, &NameFilter),
    mut after: Option<(Millis, JobNo)>,
    at_most: i64,
) -> Result<Vec<Job>, ApiError> {
    let wanted = usize::try_from(at_most).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for _ in 0..STEPS_MAX {
        let read = jobs::page(conn, org, filter, after, STEP).await?;
        let is_last = i64::try_from(read.len()).is_ok_and(|read| read < STEP);
        after = read.last().map(|job| (job.created_at, job.no));
        found.extend(read.into_iter().filter(|job| name.takes(job)));
        if is_last || found.len() >= wanted {
            break;
        }
    }
    found.truncate(wanted);
    Ok(found)
}

/// Returns an organization's lists that have not ended, oldest first; at most `at_most`.
pub async fn open_lists(app: &App, caller: &Caller, at_most: i64) -> Result<Vec<ListShown>, ApiError> {
    let mut conn = app.store.read().await?;
    let found = jobs::in_progress(&mut conn, caller.org(), caller.is_test(), at_most).await?;
    Ok(with_keys(&mut conn, found).await?.into_iter().map(|(job, key)| ListShown::of(job, key)).collect())
}

/// Adds to each list without a name that of the key that submitted it.
async fn with_keys(conn: &mut Conn, found: Vec<Job>) -> Result<Vec<(Job, Option<String>)>, StoreError> {
    let mut named = Vec::with_capacity(found.len());
    for job in found {
        let key = key_of_unnamed(conn, &job).await?;
        named.push((job, key));
    }
    Ok(named)
}
