//! Filtered rows of a list, read for a limited time per request.
//!
//! Results have no index. Rows are searched some blocks at a time, which takes about 0.5 s per million rows. To keep
//! requests short, a response ends when it has enough rows or after [`TIME_MAX`], and reports its position (`scanned`, and
//! `next` if there are more). Without a filter, the cost depends only on the number of returned rows, and no slot of the
//! [searches](probity_backend::lists::searches) is needed.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_account::id::JobId;
use probity_backend::lists::rows;
use probity_contract::error::ApiError;
use probity_contract::page::PerPage;
use probity_contract::published::jobs::batch::BatchRow;
use probity_contract::query::{FromQuery, Query};
use probity_store::connections::actions::RowAction;
use probity_store::jobs::{self, Job, OutcomeKind, SettledResult};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::lists::filter::RowFilter;

const PER_PAGE: PerPage = PerPage { default: 100, max: 500 };
/// Longest search per response.
const TIME_MAX: Duration = Duration::from_millis(250);
/// Rows read at a time: a few blocks.
const STEP: i64 = 8_000;

#[derive(Serialize)]
pub struct RowsSlice {
    pub data: Vec<FoundRow>,
    /// Number of rows in the list.
    rows: i64,
    /// Number of rows searched, from the first.
    scanned: i64,
    /// Value of `after` to continue; null if all rows were searched.
    pub next: Option<i64>,
}

/// Number of matching rows in the searched part of a list.
#[derive(Serialize)]
pub struct RowsCount {
    count: usize,
    /// Number of rows searched, from the first.
    scanned: i64,
    /// Value of `after` to continue; null if all rows were searched.
    next: Option<i64>,
}

/// Row as in the API, with three fields that the API lacks.
#[derive(Serialize)]
pub struct FoundRow {
    #[serde(flatten)]
    row: BatchRow,
    /// ID of the provider that operates the domain's MX hosts.
    provider: Option<String>,
    /// MX host that was probed.
    host: Option<String>,
    /// Deciding facts, with which the page explains an unknown verdict.
    decided: Option<DecidedBy>,
}

/// Facts that decided a row's verdict, named as in `evidence`.
#[derive(Serialize)]
struct DecidedBy {
    meta: String,
    rule: String,
    /// Code of the deciding reply.
    code: Option<u16>,
    /// Its enhanced code (RFC 3463).
    enhanced: Option<String>,
    /// Source of the deciding facts; only for `smtp`, a mail server replied about this row.
    source: String,
}

impl DecidedBy {
    fn of(kind: &OutcomeKind) -> Self {
        Self {
            meta: kind.meta.clone(),
            rule: kind.rule.clone(),
            code: kind.smtp_code,
            enhanced: kind.enhanced.clone(),
            source: kind.source.clone(),
        }
    }
}

impl FoundRow {
    /// Returns the row as displayed. Of an erased address, only the erasure is visible.
    pub(super) fn of(
        index: i64,
        email: Option<String>,
        standing: Option<&SettledResult>,
        acted: Option<&RowAction>,
    ) -> Self {
        let kind = standing.filter(|_| email.is_some()).map(|standing| &standing.result.kind);
        Self {
            provider: kind.and_then(|kind| kind.provider.clone()),
            host: kind.and_then(|kind| kind.host.clone()),
            decided: kind.map(|kind| DecidedBy::of(kind)),
            row: rows::row(index, email, standing, acted),
        }
    }
}

/// Rows to find in a list.
#[derive(Clone)]
pub struct RowsQuery {
    filter: RowFilter,
    /// Maximum number of rows to return.
    limit: usize,
    /// Index of the first row to search.
    after: i64,
}

impl FromQuery for RowsQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self {
            filter: RowFilter::from_query(query)?,
            limit: usize::try_from(PER_PAGE.wanted(query)?).unwrap_or(usize::MAX),
            after: query.whole_within("after", (0, 0, i64::MAX))?,
        })
    }
}

/// Finds rows of a list.
pub async fn find_rows(app: &App, caller: &Caller, id: JobId, query: RowsQuery) -> Result<RowsSlice, ApiError> {
    let RowsQuery { filter, limit, after } = query;
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let from = after.min(job.rows);
    let (data, scanned) = if filter.is_all() {
        let to = from.saturating_add(i64::try_from(limit).unwrap_or(i64::MAX)).min(job.rows);
        (read(app, &job, from, to, &filter).await?, to)
    } else {
        let _place = app.searches.place(caller.org()).await?;
        search(app, &job, from, &filter, limit).await?
    };
    Ok(RowsSlice { data, rows: job.rows, scanned, next: (scanned < job.rows).then_some(scanned) })
}

/// Counts rows of a list, as far as one response gets.
pub async fn count_rows(app: &App, caller: &Caller, id: JobId, query: RowsQuery) -> Result<RowsCount, ApiError> {
    let RowsQuery { filter, after, .. } = query;
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let _place = app.searches.place(caller.org()).await?;
    let begun = app.clock.elapsed();
    let (mut count, mut at) = (0, after.min(job.rows));
    while at < job.rows && app.clock.elapsed().saturating_sub(begun) < TIME_MAX {
        let to = step_end(&job, at);
        count += read(app, &job, at, to, &filter).await?.len();
        at = to;
        tokio::task::yield_now().await;
    }
    Ok(RowsCount { count, scanned: at, next: (at < job.rows).then_some(at) })
}

/// Returns the end of the step at a row: whole blocks, except the first.
fn step_end(job: &Job, at: i64) -> i64 {
    (at - at.rem_euclid(STEP) + STEP).min(job.rows)
}

/// Searches a list from a row on. Returns the rows and the position reached.
async fn search(
    app: &App,
    job: &Job,
    from: i64,
    filter: &RowFilter,
    limit: usize,
) -> Result<(Vec<FoundRow>, i64), ApiError> {
    let begun = app.clock.elapsed();
    let (mut found, mut at) = (Vec::new(), from);
    while at < job.rows && app.clock.elapsed().saturating_sub(begun) < TIME_MAX {
        let to = step_end(job, at);
        for row in read(app, job, at, to, filter).await? {
            let index = row.row.head.index.unwrap_or_default();
            found.push(row);
            if found.len() >= limit {
                return Ok((found, index + 1));
            }
        }
        at = to;
        // Unpacking thousands of rows takes milliseconds.
        tokio::task::yield_now().await;
    }
    Ok((found, at))
}

/// Returns the selected rows within `from..to`. Conditions that need only one half of the rows are checked first. The
/// connection is released after each step, so other requests can use it.
async fn read(app: &App, job: &Job, from: i64, to: i64, filter: &RowFilter) -> Result<Vec<FoundRow>, ApiError> {
    let conn = &mut app.store.read().await?;
    if filter.reads_addresses() {
        let emails = rows::emails(conn, job, from, to).await?;
        let is_in = |email: &Option<String>| filter.takes_address(email.as_deref());
        let fits: Vec<(i64, Option<String>)> = (from..).zip(emails).filter(|(_, email)| is_in(email)).collect();
        if fits.is_empty() {
            return Ok(Vec::new());
        }
        let standing = jobs::outcomes(conn, job.org, job.no, from, to).await?;
        let acted = rows::actions(conn, job, from, to).await?;
        return Ok(joined(fits, &standing, &acted, filter));
    }
    let standing = jobs::outcomes(conn, job.org, job.no, from, to).await?;
    let possible = filter.takes(None) || standing.iter().any(|(_, standing)| filter.takes(Some(standing)));
    if !possible {
        return Ok(Vec::new());
    }
    let emails = rows::emails(conn, job, from, to).await?;
    let acted = rows::actions(conn, job, from, to).await?;
    Ok(joined((from..).zip(emails).collect(), &standing, &acted, filter))
}

/// Joins addresses with their results and the actions on their contacts; both are in ascending row order.
fn joined(
    emails: Vec<(i64, Option<String>)>,
    standing: &[(i64, SettledResult)],
    acted: &BTreeMap<i64, RowAction>,
    filter: &RowFilter,
) -> Vec<FoundRow> {
    let mut standing = standing.iter().peekable();
    let mut rows = Vec::new();
    for (index, email) in emails {
        while standing.next_if(|(at, _)| *at < index).is_some() {}
        let done = standing.next_if(|(at, _)| *at == index).map(|(_, standing)| standing);
        if filter.takes(done) {
            rows.push(FoundRow::of(index, email, done, acted.get(&index)));
        }
    }
    rows
}
