//! Staging and acceptance of a job.

use probity_account::id::JobId;
use probity_mail::time::Millis;

use super::{JobNo, JobState, lock, purge};
use crate::credits::hold;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::nodes::wake::{self, WakeUp};
use crate::number::OrgNo;
use crate::privacy::erasures;
use crate::privacy::sealing::{SealedField, seal};
use crate::records::TypedStatements as _;

/// A job to submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub org: OrgNo,
    pub id: JobId,
    /// Whether a test key creates it.
    pub test: bool,
    /// Source of its addresses.
    pub source: &'static str,
    /// Initiator, in the timeline's terms.
    pub started_by: &'static str,
    /// Action that starts it.
    pub source_action: &'static str,
    /// Originator, as the timeline shows it (JSON).
    pub actor: Option<String>,
    pub at: Millis,
}

statements! {
    BEGIN = "INSERT INTO job (org_no, id, test, source, started_by, source_action, actor, created_at, progress_at, job_no, \
             state, is_open, rows_total, processed, passed, undeliverable, risky, unknown, charged, epoch, next_chunk) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, 'unborn', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)";
    ADD_BLOCK = "INSERT INTO job_block (org_no, job_no, first_idx, body) VALUES ($1, $2, $3, $4)";
    BORN = "UPDATE job SET state = 'queued', is_open = 1, rows_total = $3, webhook_url = $4, created_at = $5, \
            progress_at = $5 WHERE org_no = $1 AND job_no = $2 AND state = 'unborn' AND purged_at IS NULL";
    THROW_AWAY = "UPDATE job SET purged_at = $3 WHERE org_no = $1 AND job_no = $2 AND state = 'unborn' AND purged_at IS NULL";
    // A run may read for hours. It discards its job itself.
    BROKEN_OFF = "SELECT j.org_no, j.job_no FROM job j WHERE j.state = 'unborn' AND j.purged_at IS NULL AND j.created_at < $1 \
                  AND NOT EXISTS (SELECT 1 FROM connection_run r WHERE r.org_no = j.org_no AND r.job_no = j.job_no \
                  AND r.state = 'reading') ORDER BY j.created_at LIMIT $2";
}

/// Creates a staged job. It stays invisible until it is accepted.
pub async fn begin(tx: &mut Tx, job: &NewJob) -> Result<JobNo> {
    let no = JobNo::of_id(job.id);
    let values = args!(job => org, id, test, source, started_by, source_action, actor, at; no);
    tx.execute(&BEGIN, values).await?;
    Ok(no)
}

/// Stores a block of addresses that starts at this index. [`StoreError::NotFound`]: the job was discarded, or is accepted; a block
/// without its job would never be removed.
pub async fn add_block(tx: &mut Tx, org: OrgNo, job: JobNo, first_idx: i64, body: &[u8]) -> Result<()> {
    let locked = lock(tx, org, job).await?;
    if locked.state != JobState::Unborn || locked.purged {
        return Err(StoreError::NotFound);
    }
    let body = seal(tx, org, SealedField::numbered("job_block.body", job.0, first_idx), body).await?;
    tx.execute(&ADD_BLOCK, args![org, job, first_idx, body]).await.map(drop)
}

/// Accepts a job whose addresses have all arrived: holds a credit for each row and makes it visible, or fails with
/// [`StoreError::InsufficientCredits`].
pub async fn accept(tx: &mut Tx, new: &NewJob, rows: i64, webhook_url: Option<&str>, now: Millis) -> Result<()> {
    accept_for(tx, new, (rows, rows), webhook_url, now).await
}

/// Accepts a job for a number of credits: as many as its rows have distinct addresses at least.
pub(crate) async fn accept_for(
    tx: &mut Tx,
    new: &NewJob,
    (rows, credits): (i64, i64),
    webhook_url: Option<&str>,
    now: Millis,
) -> Result<()> {
    let no = JobNo::of_id(new.id);
    let at = erasures::after_all(tx, new.org, new.test, now).await?;
    if !new.test {
        hold::place(tx, new.org, &new.id.to_string(), credits, now).await?;
    }
    let url = webhook_url.map(|url| url.as_bytes().to_vec());
    match tx.execute(&BORN, args![new.org, no, rows, url, at]).await? {
        1 => wake::ring(tx, WakeUp::Import).await,
        _ => Err(StoreError::NotFound),
    }
}

/// Discards a staged job: a short list at once; of a long list a part, and [`super::purge_rows`] removes the rest.
pub async fn discard(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<()> {
    if throw_away(tx, org, job, now).await? {
        purge::remove_some(tx, org, job, JobState::Unborn).await?;
    }
    Ok(())
}

/// Submissions that began before a time and never finished.
pub async fn broken_off(conn: &mut Conn, before: Millis, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    conn.all(&BROKEN_OFF, args![before, at_most]).await
}

/// Discards those submissions that were not accepted meanwhile, and leaves their rows to [`super::purge_rows`]; returns the number
/// discarded.
pub async fn sweep(tx: &mut Tx, broken_off: &[(OrgNo, JobNo)], now: Millis) -> Result<usize> {
    let mut swept = 0;
    for (org, job) in broken_off {
        swept += usize::from(throw_away(tx, *org, *job, now).await?);
    }
    Ok(swept)
}

/// Marks a staged job as discarded: nothing more can be added, and it can never be accepted.
async fn throw_away(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<bool> {
    Ok(tx.execute(&THROW_AWAY, args![org, job, now]).await? == 1)
}
