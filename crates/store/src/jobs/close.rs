//! The end of a job, by its last result, its customer, or the system.

use probity_core::id::JobId;
use probity_core::time::Millis;

use super::{JobNo, State, lock};
use crate::credits::hold;
use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// A job that was closed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Whose.
    pub org: OrgNo,
    /// Which.
    pub job: JobNo,
    /// How.
    pub state: State,
    /// Credits that were given back.
    pub released: i64,
}

statements! {
    CLOSE = "UPDATE job SET state = $3, is_open = 0, finished_at = $4, leased_until = NULL WHERE org_no = $1 AND job_no = $2";
    DROP_CHUNKS = "DELETE FROM chunk WHERE org_no = $1 AND job_no = $2";
    STALLED = "SELECT org_no, job_no FROM job WHERE is_open = 1 AND progress_at < $1 ORDER BY progress_at LIMIT $2";
    OF_BANNED = "SELECT j.org_no, j.job_no FROM job j JOIN org o ON o.org_no = j.org_no \
                 WHERE j.is_open = 1 AND o.status = 'banned' ORDER BY j.created_at LIMIT $1";
    FIND = "SELECT job_no FROM job WHERE org_no = $1 AND id = $2 AND test = $3 AND state <> 'unborn'";
}

/// Closes a job whose last row has its result.
pub(super) async fn complete(tx: &mut Tx, org: OrgNo, job: JobNo, id: &str, now: Millis) -> Result<Closed> {
    close(tx, org, job, id, State::Completed, now).await
}

/// Cancels a job for its customer: what was not verified is credited back, once. None where it was closed before; the state
/// says how.
pub async fn cancel(
    tx: &mut Tx,
    org: OrgNo,
    id: JobId,
    test: bool,
    now: Millis,
) -> Result<std::result::Result<Closed, State>> {
    let found = tx.first(&FIND, args![org, id.to_string(), test]).await?.ok_or(StoreError::NotFound)?;
    stop(tx, org, JobNo(found.get("job_no")?), State::Cancelled, now).await
}

/// Stops a job for the system: it stood still for too long, or its account was stopped.
pub async fn force_stop(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<Option<Closed>> {
    Ok(stop(tx, org, job, State::ForceStopped, now).await?.ok())
}

async fn stop(
    tx: &mut Tx,
    org: OrgNo,
    job: JobNo,
    state: State,
    now: Millis,
) -> Result<std::result::Result<Closed, State>> {
    let locked = lock(tx, org, job).await?;
    if locked.state.is_closed() {
        return Ok(Err(locked.state));
    }
    close(tx, org, job, &locked.id, state, now).await.map(Ok)
}

/// Without its chunks nobody can settle anything of the job any more.
async fn close(tx: &mut Tx, org: OrgNo, job: JobNo, id: &str, state: State, now: Millis) -> Result<Closed> {
    tx.execute(&DROP_CHUNKS, args![org, job]).await?;
    tx.execute(&CLOSE, args![org, job, state.as_str(), now]).await?;
    let released = hold::release_rest(tx, org, id, &format!("closed:{id}"), now).await?;
    Ok(Closed { org, job, state, released })
}

/// Open jobs that have not come on since a time.
pub async fn stalled(conn: &mut Conn, since: Millis, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    numbers(&conn.rows(&STALLED, args![since, at_most]).await?)
}

/// Open jobs of organizations that were stopped for good.
pub async fn of_banned(conn: &mut Conn, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    numbers(&conn.rows(&OF_BANNED, args![at_most]).await?)
}

fn numbers(rows: &[Row]) -> Result<Vec<(OrgNo, JobNo)>> {
    rows.iter().map(|row| Ok((OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?)))).collect()
}
