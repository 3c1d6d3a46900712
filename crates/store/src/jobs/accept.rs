//! From the first block to the moment at which the caller has the job's id.

use probity_core::id::JobId;
use probity_core::time::Millis;

use super::{JobNo, State, lock};
use crate::credits::hold;
use crate::db::{Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::wake::{self, Bell};

/// A job that is about to be submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Whose.
    pub org: OrgNo,
    /// Its id.
    pub id: JobId,
    /// Whether it was made with a test key.
    pub test: bool,
    /// Where its addresses come from.
    pub source: &'static str,
    /// Who or what starts it, in the timeline's words.
    pub started_by: &'static str,
    /// Where it is started.
    pub source_action: &'static str,
    /// Who starts it, as the timeline shows it (JSON).
    pub actor: Option<String>,
    /// When.
    pub at: Millis,
}

statements! {
    BEGIN = "INSERT INTO job (org_no, job_no, id, test, source, started_by, source_action, actor, state, is_open, \
             rows_total, processed, passed, undeliverable, risky, unknown, charged, epoch, next_chunk, created_at, \
             progress_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'unborn', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $9, $9)";
    ADD_BLOCK = "INSERT INTO job_block (org_no, job_no, first_idx, body) VALUES ($1, $2, $3, $4)";
    BORN = "UPDATE job SET state = 'queued', is_open = 1, rows_total = $3, webhook_url = $4, created_at = $5, \
            progress_at = $5 WHERE org_no = $1 AND job_no = $2 AND state = 'unborn'";
    DROP_BLOCKS = "DELETE FROM job_block WHERE org_no = $1 AND job_no = $2";
    DROP_UNBORN = "DELETE FROM job WHERE org_no = $1 AND job_no = $2 AND state = 'unborn'";
    OLD_UNBORN = "SELECT org_no, job_no FROM job WHERE state = 'unborn' AND created_at < $1 LIMIT $2 {skip_locked}";
}

/// Makes room for a job's addresses. Nobody sees it until it is accepted.
pub async fn begin(tx: &mut Tx, job: &NewJob) -> Result<JobNo> {
    let no = JobNo::of_id(job.id);
    let values = args![
        job.org,
        no,
        job.id.to_string(),
        job.test,
        job.source,
        job.started_by,
        job.source_action,
        job.actor.as_deref(),
        job.at,
    ];
    tx.execute(&BEGIN, values).await?;
    Ok(no)
}

/// Keeps a block of addresses whose first has this index. [`StoreError::NotFound`]: the job was swept, or is accepted; a
/// block without its job would never be removed.
pub async fn add_block(tx: &mut Tx, org: OrgNo, job: JobNo, first_idx: i64, body: &[u8]) -> Result<()> {
    if lock(tx, org, job).await?.state != State::Unborn {
        return Err(StoreError::NotFound);
    }
    tx.execute(&ADD_BLOCK, args![org, job, first_idx, body]).await?;
    Ok(())
}

/// Accepts a job whose addresses are all there: holds a credit for each row and makes it visible, or
/// [`StoreError::InsufficientCredits`].
pub async fn accept(tx: &mut Tx, new: &NewJob, rows: i64, webhook_url: Option<&str>, now: Millis) -> Result<()> {
    let no = JobNo::of_id(new.id);
    if !new.test {
        hold::place(tx, new.org, &new.id.to_string(), rows, now).await?;
    }
    let url = webhook_url.map(|url| url.as_bytes().to_vec());
    match tx.execute(&BORN, args![new.org, no, rows, url, now]).await? {
        1 => wake::ring(tx, Bell::Import).await,
        _ => Err(StoreError::NotFound),
    }
}

/// Throws a job away that was not accepted.
pub async fn discard(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<()> {
    if tx.execute(&DROP_UNBORN, args![org, job]).await? == 1 {
        tx.execute(&DROP_BLOCKS, args![org, job]).await?;
    }
    Ok(())
}

/// Throws jobs away whose submission began before a time and never ended; says how many.
pub async fn sweep_unborn(tx: &mut Tx, before: Millis, at_most: i64) -> Result<usize> {
    let rows = tx.rows(&OLD_UNBORN, args![before, at_most]).await?;
    for row in &rows {
        discard(tx, OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?)).await?;
    }
    Ok(rows.len())
}
