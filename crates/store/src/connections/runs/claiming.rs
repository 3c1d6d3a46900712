//! Work on a run: claimed under a lease, released until a time, and accepted once all contacts are read.

use probity_mail::time::Millis;

use super::{ConnectionRun, RunState, columns};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::{self, JobNo, JobState, NewJob};
use crate::number::OrgNo;
use crate::privacy::erasures;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::records::{ReadColumns as _, TypedStatements as _, listed};

/// Claimed run and its epoch. Writes of an earlier holder are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFence {
    pub org: OrgNo,
    pub job: JobNo,
    pub epoch: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRun {
    pub fence: RunFence,
    pub run: ConnectionRun,
    /// Whether a test key created its connection.
    pub test: bool,
    /// Reading position; `None` at the start.
    pub position: Option<Vec<u8>>,
}

/// Setback after which the run continues later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSetback {
    pub next_at: Millis,
    /// Consecutive failed calls.
    pub failures: i64,
    /// Time of the first consecutive refusal of the credentials.
    pub refused_at: Option<Millis>,
    /// Reason, without addresses and credentials; `None` if the platform asked for a pause.
    pub fault: Option<String>,
}

/// Interval at which a waiting run checks its job, in milliseconds. The end of the job also wakes the run.
const VERIFYING_MS: i64 = 60_000;

statements! {
    ANY_DUE = "SELECT 1 AS one FROM connection_run r WHERE r.state IN ('reading', 'verifying', 'acting') AND r.next_at <= $1 \
               AND (r.leased_until IS NULL OR r.leased_until <= $1) \
               AND NOT EXISTS (SELECT 1 FROM org o WHERE o.org_no = r.org_no AND o.status IN ('suspended', 'paused', 'banned')) \
               AND r.org_no NOT IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$2}) LIMIT 1";
    NEXT = "SELECT r.org_no, r.job_no FROM connection_run r WHERE r.state IN ('reading', 'verifying', 'acting') AND r.next_at <= $1 \
            AND (r.leased_until IS NULL OR r.leased_until <= $1) \
            AND NOT EXISTS (SELECT 1 FROM org o WHERE o.org_no = r.org_no AND o.status IN ('suspended', 'paused', 'banned')) \
            AND r.org_no NOT IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$2}) \
            ORDER BY r.next_at LIMIT 1 {skip_locked}";
    TAKE = "UPDATE connection_run SET epoch = epoch + 1, leased_until = $3 WHERE org_no = $1 AND job_no = $2";
    CLAIMED = concat!("SELECT ", columns!(), ", epoch, position, (SELECT c.test FROM connection c \
              WHERE c.org_no = connection_run.org_no AND c.id = connection_run.connection_id) AS test \
              FROM connection_run WHERE org_no = $1 AND job_no = $2");
    HELD = concat!("SELECT ", columns!(), ", epoch FROM connection_run WHERE org_no = $1 AND job_no = $2 {for_update}");
    EXTEND = "UPDATE connection_run SET leased_until = $4 WHERE org_no = $1 AND job_no = $2 AND epoch = $3 \
              AND state IN ('reading', 'verifying', 'acting')";
    LEAVE = "UPDATE connection_run SET leased_until = NULL, next_at = $4, failures = $5, fault = NULL WHERE org_no = $1 \
             AND job_no = $2 AND epoch = $3 AND state IN ('reading', 'verifying', 'acting')";
    SET_BACK = "UPDATE connection_run SET leased_until = NULL, next_at = $4, failures = $5, refused_at = $6, fault = $7 \
                WHERE org_no = $1 AND job_no = $2 AND epoch = $3";
    ADVANCE = "UPDATE connection_run SET position = $10, lists = COALESCE($1, lists), contacts = $2, skipped = $5, \
               rows_total = rows_total + $3, leased_until = $4, failures = 0, refused_at = NULL, \
               oldest_at = CASE WHEN oldest_at < $6 THEN oldest_at ELSE COALESCE($6, oldest_at) END \
               WHERE org_no = $7 AND job_no = $8 AND epoch = $9";
    ACCEPT = "UPDATE connection_run SET state = 'verifying', position = NULL, watermark = $4, leased_until = NULL, next_at = $5, \
              failures = 0, refused_at = NULL WHERE org_no = $1 AND job_no = $2 AND epoch = $3";
}

/// Returns whether [`claim`] would find work, without writing.
pub async fn any_due(conn: &mut Conn, now: Millis, without: &[OrgNo]) -> Result<bool> {
    conn.has(&ANY_DUE, args![now, listed(without.iter().map(|org| org.0))]).await
}

/// Claims the run that has been due longest, of an unrestricted organization that is not in `without`.
pub async fn claim(tx: &mut Tx, now: Millis, lease_ms: i64, without: &[OrgNo]) -> Result<Option<ClaimedRun>> {
    let next: Option<(OrgNo, JobNo)> = tx.find(&NEXT, args![now, listed(without.iter().map(|org| org.0))]).await?;
    let Some((org, job)) = next else { return Ok(None) };
    tx.execute(&TAKE, args![org, job, now + lease_ms]).await?;
    let row = tx.first(&CLAIMED, args![org, job]).await?.ok_or(StoreError::NotFound)?;
    let run = row.record::<ConnectionRun>()?;
    let position = match row.get::<Option<Vec<u8>>>("position")? {
        Some(sealed) => Some(unseal(tx, org, position_of(&run.id.to_string()), sealed).await?),
        None => None,
    };
    let test = row.read::<Option<bool>>("test")?.unwrap_or_default();
    Ok(Some(ClaimedRun { fence: RunFence { org, job, epoch: row.get("epoch")? }, run, test, position }))
}

fn position_of(id: &str) -> SealedField<'_> {
    SealedField::named("connection_run.position", id)
}

/// Returns the run of a fence, locked. Fails with [`StoreError::LeaseLost`] if another node holds it, or if it is in
/// another state.
pub(crate) async fn held(tx: &mut Tx, fence: &RunFence, state: RunState) -> Result<ConnectionRun> {
    let row = tx.first(&HELD, args![fence.org, fence.job]).await?.ok_or(StoreError::LeaseLost)?;
    let run = row.record::<ConnectionRun>()?;
    let is_held = row.get::<i64>("epoch")? == fence.epoch && run.state == state;
    if is_held { Ok(run) } else { Err(StoreError::LeaseLost) }
}

/// Extends the lease. Fails with [`StoreError::LeaseLost`] if another node holds the run, or if it has ended.
pub async fn extend(tx: &mut Tx, fence: &RunFence, until: Millis) -> Result<()> {
    tx.change(&EXTEND, args!(fence => org, job, epoch; until), StoreError::LeaseLost).await
}

/// Ends the lease and makes the run due at a time. No effect if another node holds the run.
pub async fn leave(tx: &mut Tx, fence: &RunFence, next_at: Millis, failures: i64) -> Result<()> {
    tx.execute(&LEAVE, args!(fence => org, job, epoch; next_at, failures)).await.map(drop)
}

/// Ends the lease after a failed call.
pub async fn set_back(tx: &mut Tx, fence: &RunFence, setback: &RunSetback) -> Result<()> {
    let RunSetback { next_at, failures, refused_at, fault } = setback;
    let values = args!(fence => org, job, epoch; next_at, failures, refused_at, fault);
    tx.execute(&SET_BACK, values).await.map(drop)
}

/// Run after a page.
pub(crate) struct RunAdvance<'a> {
    pub(crate) id: &'a str,
    pub(crate) position: &'a [u8],
    /// IDs of lists, if there are new ones.
    pub(crate) lists: Option<Vec<u8>>,
    pub(crate) contacts: i64,
    pub(crate) skipped: i64,
    pub(crate) rows: i64,
    /// Creation date of the oldest new row.
    pub(crate) oldest: Option<Millis>,
    pub(crate) until: Millis,
}

/// Records a page of a held run.
pub(crate) async fn advance(tx: &mut Tx, fence: &RunFence, page: RunAdvance<'_>) -> Result<()> {
    let RunFence { org, job, epoch } = *fence;
    let position = seal(tx, org, position_of(page.id), page.position).await?;
    let values = args!(page => lists, contacts, rows, until, skipped, oldest; org, job, epoch, position);
    tx.change(&ADVANCE, values, StoreError::LeaseLost).await
}

/// Accepts the job of a run whose contacts are all read, with at least one row. Returns false if an open erasure may have
/// to remove rows first, in which case the caller retries later.
///
/// A staged job is older than erasures requested while its contacts are read, so their sweeps reach its rows. Acceptance
/// sets a new date, after which they would not.
///
/// Holds a credit for each row, or for each of the `distinct` addresses if their number is known.
pub async fn accept(
    tx: &mut Tx,
    fence: &RunFence,
    new: &NewJob,
    (watermark, distinct): (Option<Millis>, Option<i64>),
    now: Millis,
) -> Result<bool> {
    let locked = jobs::lock(tx, fence.org, fence.job).await?;
    let run = held(tx, fence, RunState::Reading).await?;
    if locked.state != JobState::Unborn || locked.purged {
        return Err(StoreError::LeaseLost);
    }
    if erasures::any_open_of(tx, fence.org, new.test).await? {
        return Ok(false);
    }
    jobs::accept_for(tx, new, (run.rows, distinct.unwrap_or(run.rows)), None, now).await?;
    let values = args!(fence => org, job, epoch; watermark, now + VERIFYING_MS);
    tx.change(&ACCEPT, values, StoreError::LeaseLost).await.map(|()| true)
}
