//! Retention: a job's rows expire before its totals.
//!
//! Rows are kept as long as the organization's setting or, without one, the instance's says. Once a job is marked, its rows are
//! no longer readable. Short transactions remove them in order, so another process can continue after a crash. The job itself,
//! with its counts, is removed much later. Discarded submissions are removed the same way, completely.
//!
//! Readers check whether there is work: on SQLite, a transaction would occupy the writer for it.

use probity_mail::time::{DAY_MS, Millis};

use super::{JobNo, JobState, lock, unshare};
use crate::connections::{contacts, runs};
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Blocks of each kind removed in one transaction: their content is overwritten, which takes time.
const BLOCKS_AT_ONCE: i64 = 50;
/// Rows about contacts of a run removed in one transaction.
const CONTACTS_AT_ONCE: i64 = 2_000;

statements! {
    // Each organization's own jobs, by age: jobs with a longer retention are not scanned repeatedly.
    DUE = "SELECT j.org_no, j.job_no FROM org o LEFT JOIN org_settings s ON s.org_no = o.org_no CROSS JOIN job j \
           WHERE j.org_no = o.org_no AND j.packed = 2 AND j.purged_at IS NULL \
           AND j.finished_at <= $1 - COALESCE(s.retention_days, $2) * $3 \
           AND NOT EXISTS (SELECT 1 FROM connection_run r WHERE r.org_no = j.org_no AND r.job_no = j.job_no AND r.state = 'acting') \
           ORDER BY o.org_no, j.finished_at LIMIT $4";
    // Checked again: the organization may have changed its setting.
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

/// Jobs whose rows have reached their organization's retention, or `usual_days`.
pub async fn due(conn: &mut Conn, now: Millis, usual_days: i64, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    conn.all(&DUE, args![now, usual_days, DAY_MS, at_most]).await
}

/// Marks those jobs that are still [`due`]; returns the number marked.
pub async fn mark_due(tx: &mut Tx, due: &[(OrgNo, JobNo)], now: Millis, usual_days: i64) -> Result<usize> {
    let mut marked = 0;
    for (org, job) in due {
        // A run cannot act without its rows.
        lock(tx, *org, *job).await?;
        if runs::is_acting(tx, *org, *job).await? {
            continue;
        }
        if tx.execute(&MARK, args![*org, *job, now, usual_days, DAY_MS]).await? == 1 {
            runs::purged(tx, *org, *job, now).await?;
            marked += 1;
        }
    }
    Ok(marked)
}

/// Whether [`purge_rows`] would find work.
pub async fn any_marked(conn: &mut Conn) -> Result<bool> {
    conn.has(&ANY_MARKED, args![]).await
}

/// Removes a part of the rows of one marked job. False if there is nothing left to remove.
pub async fn purge_rows(tx: &mut Tx) -> Result<bool> {
    let Some((org, job, state)) = tx.find(&MARKED, args![]).await? else { return Ok(false) };
    remove_some(tx, org, job, state).await?;
    Ok(true)
}

/// Removes a part of the rows of a marked job. When none is left, the job is finished, or removed if it was never accepted.
pub(super) async fn remove_some(tx: &mut Tx, org: OrgNo, job: JobNo, state: JobState) -> Result<()> {
    let results = tx.execute(&DROP_RESULTS, args![org, job, BLOCKS_AT_ONCE]).await?;
    let addresses = tx.execute(&DROP_BLOCKS, args![org, job, BLOCKS_AT_ONCE]).await?;
    let contacts_left = contacts::forget(tx, org, job, BLOCKS_AT_ONCE, CONTACTS_AT_ONCE).await?;
    if results.max(addresses) < BLOCKS_AT_ONCE.unsigned_abs() && !contacts_left {
        let done_with = if state == JobState::Unborn { &DROP_JOB } else { &EMPTIED };
        tx.execute(done_with, args![org, job]).await?;
    }
    Ok(())
}

/// Whether [`forget`] would find work.
pub async fn any_old(conn: &mut Conn, before: Millis) -> Result<bool> {
    conn.has(&ANY_OLD, args![before]).await
}

/// Removes jobs that ended before a time and have no rows left; returns the number removed.
pub async fn forget(tx: &mut Tx, before: Millis, at_most: i64) -> Result<usize> {
    let old: Vec<(OrgNo, JobNo)> = tx.all(&OLD, args![before, at_most]).await?;
    for (org, job) in &old {
        tx.execute(&DROP_REASONS, args![org, job]).await?;
        tx.execute(&DROP_PROVIDERS, args![org, job]).await?;
        unshare(tx, *org, *job).await?;
        tx.execute(&DROP_JOB, args![org, job]).await?;
    }
    Ok(old.len())
}
