//! Purging: what jobs were about goes when it is old enough; that they were, and what came out in numbers, stays longer.
//!
//! How long rows are kept is the organization's wish or else the instance's. From the moment at which a job is marked nobody
//! reads its rows any more; they are removed in short transactions, the first first, so whoever goes on after a crash goes on
//! where the other ended. The job itself, with its counts, goes much later. What was submitted and came to nothing goes the same
//! way, and nothing of it stays.
//!
//! Whether there is something to do is asked of a reader: on SQLite a transaction would take the writer's turn for it.

use probity_mail::time::{DAY_MS, Millis};

use super::{JobNo, State};
use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

/// Blocks of each kind that are removed in one transaction: all that was in them is overwritten, which takes its time.
const BLOCKS_AT_ONCE: i64 = 50;

statements! {
    // Each organization's own jobs, by their age: jobs that others keep for longer are not looked at again and again.
    DUE = "SELECT j.org_no, j.job_no FROM org o LEFT JOIN org_settings s ON s.org_no = o.org_no CROSS JOIN job j \
           WHERE j.org_no = o.org_no AND j.packed = 2 AND j.purged_at IS NULL \
           AND j.finished_at <= $1 - COALESCE(s.retention_days, $2) * $3 ORDER BY j.finished_at LIMIT $4";
    // Looked at again: the organization may wish something else by now.
    MARK = "UPDATE job SET purged_at = $3 WHERE org_no = $1 AND job_no = $2 AND packed = 2 AND purged_at IS NULL AND finished_at <= \
            $3 - COALESCE((SELECT s.retention_days FROM org_settings s WHERE s.org_no = job.org_no), $4) * $5";
    MARKED = "SELECT org_no, job_no, state FROM job WHERE packed < 3 AND purged_at IS NOT NULL ORDER BY purged_at LIMIT 1 \
              {skip_locked}";
    ANY_MARKED = "SELECT 1 AS one FROM job WHERE packed < 3 AND purged_at IS NOT NULL LIMIT 1";
    DROP_BLOCKS = "DELETE FROM job_block WHERE org_no = $1 AND job_no = $2 AND first_idx IN (SELECT first_idx FROM job_block \
                   WHERE org_no = $1 AND job_no = $2 ORDER BY first_idx LIMIT $3)";
    DROP_RESULTS = "DELETE FROM result_block WHERE org_no = $1 AND job_no = $2 AND first_idx IN (SELECT first_idx \
                    FROM result_block WHERE org_no = $1 AND job_no = $2 ORDER BY first_idx LIMIT $3)";
    EMPTIED = "UPDATE job SET packed = 3 WHERE org_no = $1 AND job_no = $2";
    OLD = "SELECT org_no, job_no FROM job WHERE packed = 3 AND finished_at <= $1 ORDER BY finished_at LIMIT $2 {skip_locked}";
    ANY_OLD = "SELECT 1 AS one FROM job WHERE packed = 3 AND finished_at <= $1 LIMIT 1";
    DROP_REASONS = "DELETE FROM job_reason WHERE org_no = $1 AND job_no = $2";
    DROP_PROVIDERS = "DELETE FROM job_provider WHERE org_no = $1 AND job_no = $2";
    DROP_JOB = "DELETE FROM job WHERE org_no = $1 AND job_no = $2";
}

/// Jobs whose rows were kept for as long as their organization wishes, or for `usual_days`.
pub async fn due(conn: &mut Conn, now: Millis, usual_days: i64, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    let rows = conn.rows(&DUE, args![now, usual_days, DAY_MS, at_most]).await?;
    rows.iter().map(numbers).collect()
}

/// Marks those that are still [`due`]; says how many.
pub async fn mark_due(tx: &mut Tx, due: &[(OrgNo, JobNo)], now: Millis, usual_days: i64) -> Result<usize> {
    let mut marked = 0;
    for (org, job) in due {
        marked += usize::from(tx.execute(&MARK, args![*org, *job, now, usual_days, DAY_MS]).await? == 1);
    }
    Ok(marked)
}

/// Whether [`purge_rows`] would find something.
pub async fn any_marked(conn: &mut Conn) -> Result<bool> {
    Ok(conn.first(&ANY_MARKED, args![]).await?.is_some())
}

/// Removes a part of the rows of one marked job. False where there is nothing to remove any more.
pub async fn purge_rows(tx: &mut Tx) -> Result<bool> {
    let Some(row) = tx.first(&MARKED, args![]).await? else { return Ok(false) };
    let (org, job) = numbers(&row)?;
    remove_some(tx, org, job, row.parse("state")?).await?;
    Ok(true)
}

/// Removes a part of the rows of a marked job; where none is left, the job is done with, and one that was never accepted is gone.
pub(super) async fn remove_some(tx: &mut Tx, org: OrgNo, job: JobNo, state: State) -> Result<()> {
    let results = tx.execute(&DROP_RESULTS, args![org, job, BLOCKS_AT_ONCE]).await?;
    let addresses = tx.execute(&DROP_BLOCKS, args![org, job, BLOCKS_AT_ONCE]).await?;
    if results.max(addresses) < BLOCKS_AT_ONCE.unsigned_abs() {
        let done_with = if state == State::Unborn { &DROP_JOB } else { &EMPTIED };
        tx.execute(done_with, args![org, job]).await?;
    }
    Ok(())
}

/// Whether [`forget`] would find something.
pub async fn any_old(conn: &mut Conn, before: Millis) -> Result<bool> {
    Ok(conn.first(&ANY_OLD, args![before]).await?.is_some())
}

/// Removes jobs that ended before a time and have no rows any more; says how many.
pub async fn forget(tx: &mut Tx, before: Millis, at_most: i64) -> Result<usize> {
    let old = tx.rows(&OLD, args![before, at_most]).await?;
    for row in &old {
        let (org, job) = numbers(row)?;
        tx.execute(&DROP_REASONS, args![org, job]).await?;
        tx.execute(&DROP_PROVIDERS, args![org, job]).await?;
        tx.execute(&DROP_JOB, args![org, job]).await?;
    }
    Ok(old.len())
}

fn numbers(row: &Row) -> Result<(OrgNo, JobNo)> {
    Ok((OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?)))
}
