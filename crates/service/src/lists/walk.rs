//! Walks through the addresses of all lists, newest list first, in responses of limited time.
//!
//! A response ends when its reader has enough or after [`TIME_MAX`], and has a cursor to continue.

use std::time::Duration;

use probity_backend::lists::rows;
use probity_contract::asked_page::ListPlace;
use probity_contract::error::ApiError;
use probity_contract::page::{Binding, CURSOR_RULE, GivenCursor};
use probity_mail::time::Millis;
use probity_store::jobs::{self, Job, JobFilter, JobNo};
use probity_store::{Conn, OrgNo};

use crate::app::App;
use crate::callers::caller::Caller;

/// Longest walk per response.
const TIME_MAX: Duration = Duration::from_millis(500);
/// Rows read at a time.
const STEP: i64 = 8_000;
/// Lists read at a time.
const JOBS: i64 = 20;

/// Position at which a walk continues: a list with its time, and a row.
type WalkEnd = (Millis, JobNo, i64);

/// Reads the addresses on the way.
pub(crate) trait RowReader: Send {
    /// Reads the addresses of a list from row `at` on, `None` for erased ones. Returns the row at which the walk continues.
    fn read(
        &mut self,
        conn: &mut Conn,
        job: &Job,
        at: i64,
        emails: Vec<Option<String>>,
    ) -> impl Future<Output = Result<i64, ApiError>> + Send;

    /// Returns whether the response has enough.
    fn is_full(&self) -> bool {
        false
    }
}

/// A walk of one response.
struct ListWalk<'a, R> {
    app: &'a App,
    org: OrgNo,
    test: bool,
    begun: Duration,
    reader: &'a mut R,
}

/// Walks from the cursor on. Returns the cursor of the rest; `None` if there is none. `list` is what the cursor is good for.
pub(crate) async fn walk<R: RowReader>(
    app: &App,
    caller: &Caller,
    list: &str,
    cursor: Option<&GivenCursor>,
    reader: &mut R,
) -> Result<Option<String>, ApiError> {
    let org = caller.org_id().to_string();
    let binding = Binding { org: &org, list };
    let from = app.cursors.place(cursor, binding)?;
    let from = from.map(|place| WalkEnd::of_bytes(&place).ok_or_else(|| ApiError::invalid("next", CURSOR_RULE)));
    let _place = app.searches.place(caller.org()).await?;
    let begun = app.clock.elapsed();
    let mut walk = ListWalk { app, org: caller.org(), test: caller.is_test(), begun, reader };
    let next = walk.look(from.transpose()?).await?;
    Ok(next.map(|at| app.cursors.seal(binding, &at.to_bytes())))
}

impl<R: RowReader> ListWalk<'_, R> {
    /// Walks through the lists from a position on. Returns where it stopped, unless it reached the end.
    async fn look(&mut self, from: Option<WalkEnd>) -> Result<Option<WalkEnd>, ApiError> {
        // The list in which the last response stopped comes first, so the page starts one list earlier.
        let mut behind = from.map(|(at, job, _): WalkEnd| (at, JobNo(job.0.saturating_add(1))));
        // Each response advances by at least one list or one step, even if the database is slow.
        let mut is_first = true;
        loop {
            let listed = self.page(behind).await?;
            for job in &listed {
                let begun = from.filter(|(_, no, _)| *no == job.no).map_or(0, |(.., row)| row);
                let stopped = if self.is_over() && !is_first { Some(begun) } else { self.through(job, begun).await? };
                if let Some(row) = stopped {
                    return Ok(Some((job.created_at, job.no, row)));
                }
                is_first = false;
            }
            let Some(last) = listed.last().filter(|_| i64::try_from(listed.len()).is_ok_and(|read| read >= JOBS))
            else {
                return Ok(None);
            };
            behind = Some((last.created_at, last.no));
        }
    }

    /// Returns the next lists. The connection is released immediately, as between all steps.
    async fn page(&self, behind: Option<(Millis, JobNo)>) -> Result<Vec<Job>, ApiError> {
        let filter = JobFilter { test: self.test, ..JobFilter::default() };
        let mut conn = self.app.store.read().await?;
        Ok(jobs::page(&mut conn, self.org, &filter, behind, JOBS).await?)
    }

    /// Returns whether the response has enough, or its time is over.
    fn is_over(&self) -> bool {
        self.reader.is_full() || self.app.clock.elapsed().saturating_sub(self.begun) > TIME_MAX
    }

    /// Walks through one list. Returns the row at which the response must end.
    async fn through(&mut self, job: &Job, from: i64) -> Result<Option<i64>, ApiError> {
        if job.purged_at.is_some() {
            return Ok(None);
        }
        let mut at = from;
        while at < job.rows {
            let to = (at - at.rem_euclid(STEP) + STEP).min(job.rows);
            let mut conn = self.app.store.read().await?;
            let emails = rows::emails(&mut conn, job, at, to).await?;
            at = self.reader.read(&mut conn, job, at, emails).await?;
            drop(conn);
            tokio::task::yield_now().await;
            if at < job.rows && self.is_over() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
