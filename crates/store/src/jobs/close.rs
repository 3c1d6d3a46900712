//! Closes a job: after its last result, by its customer, or by the system.

use probity_account::id::JobId;
use probity_mail::time::Millis;

use super::{JobNo, JobState, lock};
use crate::activity::letters;
use crate::connections::runs;
use crate::credits::hold;
use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// A job closed just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedJob {
    pub org: OrgNo,
    pub job: JobNo,
    pub state: JobState,
    pub released: i64,
}

statements! {
    CLOSE = "UPDATE job SET state = $3, is_open = 0, finished_at = $4, leased_until = NULL WHERE org_no = $1 AND job_no = $2";
    FIND = "SELECT job_no FROM job WHERE org_no = $1 AND id = $2 AND test = $3 AND state <> 'unborn' AND deleted_at IS NULL";
}

/// Cancels a job for its customer and releases its unspent credits, once. `None` if it was closed before; the state says how.
pub async fn cancel(
    tx: &mut Tx,
    org: OrgNo,
    id: JobId,
    test: bool,
    now: Millis,
) -> Result<std::result::Result<ClosedJob, JobState>> {
    let job = tx.one(&FIND, args![org, id, test]).await?;
    stop(tx, org, job, JobState::Cancelled, now).await
}

/// Stops a job for the system: it stalled for too long, or its account was restricted.
pub async fn force_stop(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<Option<ClosedJob>> {
    Ok(stop(tx, org, job, JobState::ForceStopped, now).await?.ok())
}

async fn stop(
    tx: &mut Tx,
    org: OrgNo,
    job: JobNo,
    state: JobState,
    now: Millis,
) -> Result<std::result::Result<ClosedJob, JobState>> {
    let locked = lock(tx, org, job).await?;
    if locked.state.is_closed() {
        return Ok(Err(locked.state));
    }
    close(tx, org, job, &locked.id, state, now).await.map(Ok)
}

/// Closes a job. Its state prevents any further settlement. Remaining chunks, up to a thousand, are removed when the job is packed.
pub(super) async fn close(
    tx: &mut Tx,
    org: OrgNo,
    job: JobNo,
    id: &str,
    state: JobState,
    now: Millis,
) -> Result<ClosedJob> {
    tx.execute(&CLOSE, args![org, job, state, now]).await?;
    letters::list_ended(tx, org, job, now).await?;
    runs::closed_job(tx, org, job, now).await?;
    let released = hold::release_rest(tx, org, id, &format!("closed:{id}"), now).await?;
    Ok(ClosedJob { org, job, state, released })
}
