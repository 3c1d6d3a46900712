//! Timeline of an account: its jobs and its events, each newest first, and the counts of both.
//!
//! The API merges the two lists. Counting reads 1,000 rows at a time along a list's index and returns the connection after each
//! read, so a long window blocks no other reader.

use std::collections::BTreeMap;

use probity_mail::time::Millis;

use crate::activity::events::{SETTINGS_CHANGE, StoredAccountEvent};
use crate::db::error::Result;
use crate::db::{Conn, Statement, StatementArgs, Store, args, statements};
use crate::jobs::{Job, columns};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Rows per read of [`count_events`] and [`count_jobs`].
const COUNTED_AT_ONCE: i64 = 1_000;

statements! {
    EVENTS = "SELECT at, kind, connection_id, body FROM event WHERE org_no = $1 AND at >= $2 AND at < $3 \
              ORDER BY at DESC, event_no DESC LIMIT $4";
    KINDS = "SELECT kind, at, event_no FROM event WHERE org_no = $1 AND at >= $2 AND at < $3 \
             AND (at < $4 OR (at = $4 AND event_no < $5)) ORDER BY at DESC, event_no DESC LIMIT $6";
    // A job is dated by the start of its processing or, before that, by its acceptance. All rows come from one index.
    JOBS = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND test = $2 AND state <> 'unborn' \
        AND COALESCE(started_at, created_at) >= $3 AND COALESCE(started_at, created_at) < $4 \
        ORDER BY COALESCE(started_at, created_at) DESC, job_no DESC LIMIT $5");
    STARTERS = "SELECT started_by, COALESCE(started_at, created_at) AS at, job_no FROM job \
        WHERE org_no = $1 AND test = $2 AND state <> 'unborn' \
        AND COALESCE(started_at, created_at) >= $3 AND COALESCE(started_at, created_at) < $4 \
        AND (COALESCE(started_at, created_at) < $5 OR (COALESCE(started_at, created_at) = $5 AND job_no < $6)) \
        ORDER BY COALESCE(started_at, created_at) DESC, job_no DESC LIMIT $7";
}

/// Events by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    pub settings_changes: u64,
    /// Account events and changes of connections.
    pub account_events: u64,
}

/// Events in `from..to`, newest first.
pub async fn newest_events(
    conn: &mut Conn,
    org: OrgNo,
    from: Millis,
    to: Millis,
    at_most: i64,
) -> Result<Vec<StoredAccountEvent>> {
    conn.all(&EVENTS, args![org, from, to, at_most]).await
}

/// Number of events in `from..to`, without a limit: read 1,000 at a time along the list's index.
pub async fn count_events(store: &Store, org: OrgNo, from: Millis, to: Millis) -> Result<EventCounts> {
    let kinds = count(store, &KINDS, |at, no| args![org, from, to, at, no, COUNTED_AT_ONCE]).await?;
    let settings_changes = kinds.get(&Some(SETTINGS_CHANGE.to_owned())).copied().unwrap_or_default();
    Ok(EventCounts { settings_changes, account_events: kinds.values().sum::<u64>() - settings_changes })
}

/// Counts the rows of a list by their first column, in pages: `page` returns the arguments for rows after a time and a number.
async fn count(
    store: &Store,
    statement: &'static Statement,
    page: impl Fn(i64, i64) -> StatementArgs,
) -> Result<BTreeMap<Option<String>, u64>> {
    let mut counted = BTreeMap::new();
    let (mut at, mut no) = (i64::MAX, i64::MAX);
    loop {
        let rows: Vec<(Option<String>, i64, i64)> = store.read().await?.all(statement, page(at, no)).await?;
        let is_last = i64::try_from(rows.len()).is_ok_and(|read| read < COUNTED_AT_ONCE);
        for row in rows {
            (at, no) = (row.1, row.2);
            *counted.entry(row.0).or_default() += 1;
        }
        if is_last {
            return Ok(counted);
        }
    }
}

/// Jobs in `from..to` by the start of their processing, or before that by their acceptance, newest first.
pub async fn newest_jobs(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    (from, to): (Millis, Millis),
    at_most: i64,
) -> Result<Vec<Job>> {
    conn.all(&JOBS, args![org, test, from, to, at_most]).await
}

/// Number of jobs in `from..to`, as selected by [`newest_jobs`], by cause, without a limit: read 1,000 at a time along the index.
pub async fn count_jobs(
    store: &Store,
    org: OrgNo,
    test: bool,
    from: Millis,
    to: Millis,
) -> Result<BTreeMap<Option<String>, u64>> {
    count(store, &STARTERS, |at, no| args![org, test, from, to, at, no, COUNTED_AT_ONCE]).await
}
