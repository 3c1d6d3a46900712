//! Polls: short, frequent runs over new contacts.

use probity_account::connections::RunCause;
use probity_account::id::ConnId;
use probity_mail::time::Millis;

use super::ending::{cancel, lock};
use super::{RunState, going};
use crate::db::error::{Result, StoreError};
use crate::db::{Tx, args, statements};
use crate::jobs;
use crate::number::OrgNo;

statements! {
    DROP = "DELETE FROM connection_run WHERE org_no = $1 AND job_no = $2";
}

/// Ends a poll that is still reading, so that a run started by a user need not wait. The next poll finds the same contacts.
pub async fn end_poll(tx: &mut Tx, org: OrgNo, connection: ConnId, now: Millis) -> Result<()> {
    let Some(poll) = going(tx, org, connection).await? else { return Ok(()) };
    if poll.cause != RunCause::Instafloss {
        return Ok(());
    }
    // It may have ended or been accepted meanwhile.
    let locked = async {
        jobs::lock(tx, org, poll.job).await?;
        lock(tx, org, poll.job).await
    };
    match locked.await {
        Ok(run) if run.state == RunState::Reading => {}
        Ok(_) | Err(StoreError::NotFound) => return Ok(()),
        Err(error) => return Err(error),
    }
    cancel(tx, (org, connection, poll.id), now).await?;
    tx.execute(&DROP, args![org, poll.job]).await.map(drop)
}
