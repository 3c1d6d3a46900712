//! Purging: what jobs were about goes when it is old enough; that they were, and what came out in numbers, stays longer.
//!
//! How long rows are kept is the organization's wish or else the instance's. From the moment at which a job is marked nobody
//! reads its rows any more; they are removed in short transactions, the first first, so whoever goes on after a crash goes on
//! where the other ended. The job itself, with its counts, goes much later.

use probity_core::time::Millis;

use super::JobNo;
use crate::db::{Tx, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

const DAY_MS: i64 = 86_400_000;
/// Rows of a job that are removed in one transaction: fifty blocks of each kind.
const ROWS_AT_ONCE: i64 = 50_000;

statements! {
    DUE = "SELECT j.org_no, j.job_no FROM job j LEFT JOIN org_settings s ON s.org_no = j.org_no \
           WHERE j.packed = 2 AND j.purged_at IS NULL AND j.finished_at <= $1 - COALESCE(s.retention_days, $2) * $3 \
           ORDER BY j.finished_at LIMIT $4";
    MARK = "UPDATE job SET purged_at = $3 WHERE org_no = $1 AND job_no = $2 AND purged_at IS NULL";
    MARKED = "SELECT org_no, job_no FROM job WHERE packed = 2 AND purged_at IS NOT NULL ORDER BY purged_at LIMIT 1 \
              {skip_locked}";
    FIRST_BLOCK = "SELECT first_idx FROM job_block WHERE org_no = $1 AND job_no = $2 ORDER BY first_idx LIMIT 1";
    DROP_BLOCKS = "DELETE FROM job_block WHERE org_no = $1 AND job_no = $2 AND first_idx < $3";
    DROP_RESULTS = "DELETE FROM result_block WHERE org_no = $1 AND job_no = $2 AND first_idx < $3";
    EMPTIED = "UPDATE job SET packed = 3 WHERE org_no = $1 AND job_no = $2";
    OLD = "SELECT org_no, job_no FROM job WHERE packed = 3 AND finished_at <= $1 ORDER BY finished_at LIMIT $2 {skip_locked}";
    DROP_REASONS = "DELETE FROM job_reason WHERE org_no = $1 AND job_no = $2";
    DROP_JOB = "DELETE FROM job WHERE org_no = $1 AND job_no = $2";
}

/// Marks jobs whose rows were kept for as long as their organization wishes, or for `usual_days`; says how many.
pub async fn mark_due(tx: &mut Tx, now: Millis, usual_days: i64, at_most: i64) -> Result<usize> {
    let due = tx.rows(&DUE, args![now, usual_days, DAY_MS, at_most]).await?;
    let mut marked = 0;
    for row in &due {
        let (org, job) = (OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?));
        marked += usize::from(tx.execute(&MARK, args![org, job, now]).await? == 1);
    }
    Ok(marked)
}

/// Removes a part of the rows of one marked job. False where there is nothing to remove any more.
pub async fn purge_rows(tx: &mut Tx) -> Result<bool> {
    let Some(row) = tx.first(&MARKED, args![]).await? else { return Ok(false) };
    let (org, job) = (OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?));
    let first = tx.first(&FIRST_BLOCK, args![org, job]).await?;
    match first {
        Some(first) => {
            let end = first.get::<i64>("first_idx")? + ROWS_AT_ONCE;
            tx.execute(&DROP_RESULTS, args![org, job, end]).await?;
            tx.execute(&DROP_BLOCKS, args![org, job, end]).await?;
        }
        None => {
            tx.execute(&EMPTIED, args![org, job]).await?;
        }
    }
    Ok(true)
}

/// Removes jobs that ended before a time and have no rows any more; says how many.
pub async fn forget(tx: &mut Tx, before: Millis, at_most: i64) -> Result<usize> {
    let old = tx.rows(&OLD, args![before, at_most]).await?;
    for row in &old {
        let (org, job) = (OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?));
        tx.execute(&DROP_REASONS, args![org, job]).await?;
        tx.execute(&DROP_JOB, args![org, job]).await?;
    }
    Ok(old.len())
}
