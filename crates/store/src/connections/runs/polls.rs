//! Polls: short runs over new contacts, of which many stand for one.

use probity_account::connections::RunCause;
use probity_account::id::ConnId;
use probity_mail::time::{DAY_MS, Millis};

use super::ending::{cancel, lock};
use super::{ConnectionRun, RunState, going};
use crate::db::error::{Result, StoreError};
use crate::db::{Tx, args, statements};
use crate::jobs;
use crate::number::OrgNo;

statements! {
    DROP = "DELETE FROM connection_run WHERE org_no = $1 AND job_no = $2";
    CONTACTS = "SELECT CAST(COALESCE(SUM(rows_total), 0) AS BIGINT) AS n FROM connection_run WHERE org_no = $1 \
                AND connection_id = $2 AND created_at >= $3 AND cause = 'instafloss' AND confirmed_at IS NULL AND job_no <> $4";
    ACTIONS = "SELECT CAST(COALESCE(SUM(c.actions), 0) AS BIGINT) AS n FROM connection_run r \
               JOIN contact_action_count c ON c.org_no = r.org_no AND c.job_no = r.job_no \
               WHERE r.org_no = $1 AND r.connection_id = $2 AND r.created_at >= $3 AND r.cause = 'instafloss' \
               AND r.confirmed_at IS NULL AND r.job_no <> $4 AND c.kind IN ('unsubscribe', 'delete', 'fix') \
               AND c.state IN ('due', 'done', 'gone', 'taken')";
}

/// Contacts and actions of polls that count for the brake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PolledBefore {
    pub(super) contacts: i64,
    /// Actions that cannot be undone, performed or due.
    pub(super) destructive: i64,
}

/// Counts what earlier polls of a day did without being asked: each alone is too short for the brake.
pub(super) async fn before(tx: &mut Tx, run: &ConnectionRun) -> Result<PolledBefore> {
    if run.cause != RunCause::Instafloss {
        return Ok(PolledBefore::default());
    }
    let mut sums = [0; 2];
    for (sum, statement) in sums.iter_mut().zip([&CONTACTS, &ACTIONS]) {
        let values = args![run.org, run.connection.to_string(), run.created_at + -DAY_MS, run.job];
        *sum = tx.first(statement, values).await?.map_or(Ok(0), |row| row.get("n"))?;
    }
    Ok(PolledBefore { contacts: sums[0], destructive: sums[1] })
}

/// Ends a poll that still reads, so that a run that a person wants need not wait for it. The next poll finds what it would have.
pub async fn end_poll(tx: &mut Tx, org: OrgNo, connection: ConnId, now: Millis) -> Result<()> {
    let Some(poll) = going(tx, org, connection).await? else { return Ok(()) };
    if poll.cause != RunCause::Instafloss {
        return Ok(());
    }
    // It may have ended or been accepted by now.
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
