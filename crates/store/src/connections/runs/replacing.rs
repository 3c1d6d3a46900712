//! Replaces runs that wait for a user once a newer run over all contacts of their connection has its verdicts: of two plans for
//! the same contacts, the older one is outdated. Automatic runs cover some of the contacts, and replace nothing.

use probity_account::id::ConnId;
use probity_mail::time::Millis;

use super::ending::{DROPPED_AT_ONCE, lock, set};
use super::{ConnectionRun, RunState};
use crate::connections::actions;
use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::jobs::{self, JobNo};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Reason why the older run ended.
const REPLACED: &str = "a newer run replaced it";

statements! {
    WAITING = "SELECT job_no FROM connection_run WHERE org_no = $1 AND connection_id = $2 AND state = 'needs_confirmation' \
               ORDER BY job_no";
}

/// Locks the runs of a connection that wait for a user, in the order in which a confirmation locks: job, run, connection.
pub(super) async fn lock_waiting(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<Vec<ConnectionRun>> {
    let mut waiting = Vec::new();
    let found: Vec<JobNo> = tx.all(&WAITING, args![org, connection]).await?;
    for job in found {
        jobs::lock(tx, org, job).await?;
        let run = lock(tx, org, job).await?;
        waiting.extend((run.state == RunState::NeedsConfirmation).then_some(run));
    }
    Ok(waiting)
}

/// Ends locked runs that wait, with their planned actions.
pub(super) async fn replace(tx: &mut Tx, waiting: &[ConnectionRun], now: Millis) -> Result<()> {
    for run in waiting {
        set(tx, run, RunState::Cancelled, Some(REPLACED), now).await?;
        // The others are ignored later.
        actions::drop_some(tx, (run.org, run.job), now, DROPPED_AT_ONCE).await?;
    }
    Ok(())
}
