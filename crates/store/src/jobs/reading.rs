//! Jobs as customers see them.

use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;

use super::{Job, JobCounts, JobNo, columns};
use crate::credits::hold;
use crate::db::error::Result;
use crate::db::{Conn, ResultRow, args, statements};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, TypedStatements as _, record};

/// Job filter. Empty texts and `None` match all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Created with a test key.
    pub test: bool,
    pub source: Option<String>,
    /// In a state of this API status: `queued`, `processing`, `completed`, `cancelled`.
    pub status: Option<String>,
    /// Accepted at this time or later.
    pub created_from: Option<Millis>,
    /// Accepted before this time.
    pub created_before: Option<Millis>,
}

statements! {
    BY_NO = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND job_no = $2");
    BY_ID = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND id = $2 AND test = $3 AND state <> 'unborn' \
        AND deleted_at IS NULL");
    PAGE = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND test = $2 AND state <> 'unborn' AND deleted_at IS NULL \
        AND ($3 = '' OR source = $3) AND ($4 = '' OR $4 = CASE WHEN state IN ('queued', 'importing', 'ready') THEN 'queued' \
        WHEN state IN ('cancelled', 'force_stopped') THEN 'cancelled' ELSE state END) \
        AND created_at >= $5 AND created_at < $6 AND (created_at < $7 OR (created_at = $7 AND job_no < $8)) \
        ORDER BY created_at DESC, job_no DESC LIMIT $9");
    // The plus keeps SQLite from using the index of all jobs of a mode.
    IN_PROGRESS = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND +test = $2 AND is_open = 1 AND deleted_at IS NULL \
        ORDER BY created_at, job_no LIMIT $3");
    PROVIDERS = "SELECT provider, passed, undeliverable, risky, unknown FROM job_provider WHERE org_no = $1 AND job_no = $2";
    // From the index of times: only chunks that are not yet due are read.
    WAITING = "SELECT CAST(SUM(CASE WHEN held_since IS NULL THEN size ELSE 0 END) AS BIGINT) AS deferred, \
               MIN(CASE WHEN held_since IS NULL THEN ready_at END) AS deferred_first, \
               MAX(CASE WHEN held_since IS NULL THEN ready_at END) AS deferred_last, \
               CAST(SUM(CASE WHEN held_since IS NULL THEN 0 ELSE size END) AS BIGINT) AS throttled, \
               MIN(CASE WHEN held_since IS NULL THEN NULL ELSE ready_at END) AS throttled_first, \
               MAX(CASE WHEN held_since IS NULL THEN NULL ELSE ready_at END) AS throttled_last \
               FROM chunk WHERE org_no = $1 AND job_no = $2 AND ready_at > $3 AND leased_until IS NULL";
    REASONS = "SELECT reason, n FROM job_reason WHERE org_no = $1 AND job_no = $2";
}

/// One job, without a check of the key's mode; for callers that have its number.
pub async fn by_no(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Job> {
    conn.one(&BY_NO, args![org, job]).await
}

/// The job with an id, for keys of its mode (live or test).
pub async fn by_id(conn: &mut Conn, org: OrgNo, id: JobId, test: bool) -> Result<Job> {
    conn.one(&BY_ID, args![org, id, test]).await
}

/// Jobs, newest first, after the last one of a page; at most `at_most`.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    filter: &JobFilter,
    after: Option<(Millis, JobNo)>,
    at_most: i64,
) -> Result<Vec<Job>> {
    let (at, no) = after.unwrap_or((Millis(i64::MAX), JobNo(i64::MAX)));
    let JobFilter { test, source, status, created_from, created_before } = filter;
    let (source, status) = (source.as_deref().unwrap_or(""), status.as_deref().unwrap_or(""));
    let (from, before) = (created_from.unwrap_or(Millis(i64::MIN)), created_before.unwrap_or(Millis(i64::MAX)));
    let values = args![org, test, source, status, from, before, at, no, at_most];
    conn.all(&PAGE, values).await
}

/// Jobs that have not ended, oldest first; at most `at_most`.
pub async fn in_progress(conn: &mut Conn, org: OrgNo, test: bool, at_most: i64) -> Result<Vec<Job>> {
    conn.all(&IN_PROGRESS, args![org, test, at_most]).await
}

/// A job's rows by reason, in the order of the reasons; reasons without rows are omitted.
pub async fn reasons(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Vec<(Reason, i64)>> {
    let mut counted: Vec<(Reason, i64)> = conn.all(&REASONS, args![org, job]).await?;
    counted.sort_by_key(|(reason, _)| Reason::ALL.iter().position(|known| known == reason));
    Ok(counted)
}

/// A job's rows by mail provider and status, the largest provider first; `None` for rows of no known provider.
pub async fn providers(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Vec<(Option<String>, JobCounts)>> {
    let read = |row: &ResultRow| {
        let counts = record!(row => JobCounts { passed, undeliverable, risky, unknown; processed: 0 });
        let provider = Some(row.get("provider")?).filter(|id: &String| !id.is_empty());
        Ok((provider, JobCounts { processed: counts.passed + counts.failed(), ..counts }))
    };
    let rows = conn.rows(&PROVIDERS, args![org, job]).await?;
    let mut counted = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    counted.sort_by(|(a, of_a), (b, of_b)| (of_b.processed, a).cmp(&(of_a.processed, b)));
    Ok(counted)
}

/// Addresses that wait for a later time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRows {
    pub addresses: i64,
    /// Time of the next attempt at one of them.
    pub first_at: Millis,
    /// Time by which an attempt at each of them is due.
    pub last_at: Millis,
}

/// Addresses of a job that wait for a later time: those that servers deferred, and those that our own limits throttle.
pub async fn waiting(conn: &mut Conn, org: OrgNo, job: JobNo, now: Millis) -> Result<[Option<WaitingRows>; 2]> {
    let Some(row) = conn.first(&WAITING, args![org, job, now]).await? else { return Ok([None, None]) };
    let part = |addresses: &str, first, last| -> Result<Option<WaitingRows>> {
        let times = row.read::<Option<Millis>>(first)?.zip(row.read(last)?);
        let Some((first_at, last_at)) = times else { return Ok(None) };
        Ok(Some(WaitingRows { addresses: row.get::<Option<i64>>(addresses)?.unwrap_or_default(), first_at, last_at }))
    };
    Ok([part("deferred", "deferred_first", "deferred_last")?, part("throttled", "throttled_first", "throttled_last")?])
}

/// Credits still on hold for a job.
pub async fn set_aside(conn: &mut Conn, org: OrgNo, id: JobId) -> Result<i64> {
    hold::left(conn, org, &id.to_string()).await
}
