//! Finds stalled jobs, and jobs to be stopped.
//!
//! A job stalls if it is claimed repeatedly without progress: every worker dies on a chunk, or every importer on its list. A job
//! that waits for its turn has not stalled, however long it waits behind larger jobs or for a node. So the timer does not start
//! at the last progress, but runs only while the job is held: a claim restarts it if nothing of the job was held within
//! [`LATELY_MS`]. Downtime of the service needs no record.
//!
//! Jobs of restricted organizations cannot be claimed at all. Their timer runs from the restriction ([`waits`]).

use probity_mail::time::Millis;

use super::{JobNo, lock};
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Time for which a job counts as held after its last lease, in milliseconds: one day. Work that fails at every worker is claimed
/// again within minutes; a day without a claim means that it was not the job's turn.
pub const LATELY_MS: i64 = 24 * 3_600_000;

statements! {
    STALLED = "SELECT j.org_no, j.job_no FROM job j JOIN org o ON o.org_no = j.org_no \
               WHERE j.is_open = 1 AND j.progress_at < $1 AND (o.status IN ('suspended', 'paused', 'banned') \
               OR (j.state = 'importing' AND j.leased_until > $2) \
               OR (j.state = 'processing' AND EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = j.org_no AND c.job_no = j.job_no \
               AND c.leased_until > $2))) ORDER BY j.progress_at, j.org_no, j.job_no LIMIT $3";
    // The same condition for a single job, as a recheck.
    IS_TO_STOP = "SELECT 1 AS one FROM job j JOIN org o ON o.org_no = j.org_no WHERE j.org_no = $1 AND j.job_no = $2 AND j.is_open = 1 \
                  AND (o.status = 'banned' OR (j.progress_at < $3 AND (o.status IN ('suspended', 'paused') \
                  OR (j.state = 'importing' AND j.leased_until > $4) \
                  OR (j.state = 'processing' AND EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = j.org_no AND c.job_no = j.job_no \
                  AND c.leased_until > $4)))))";
    OF_BANNED = "SELECT j.org_no, j.job_no FROM job j JOIN org o ON o.org_no = j.org_no \
                 WHERE j.is_open = 1 AND o.status = 'banned' ORDER BY j.created_at LIMIT $1";
    OPEN_OF = "SELECT created_at, job_no FROM job WHERE org_no = $1 AND is_open = 1 \
               AND (created_at > $2 OR (created_at = $2 AND job_no > $3)) ORDER BY created_at, job_no LIMIT $4";
    WAITS = "UPDATE job SET progress_at = $2 WHERE org_no = $1 AND is_open = 1";
}

/// Open jobs that have stalled since a time, including those of restricted organizations.
pub async fn stalled(conn: &mut Conn, since: Millis, now: Millis, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    conn.all(&STALLED, args![since, now - LATELY_MS, at_most]).await
}

/// Open jobs of banned organizations.
pub async fn of_banned(conn: &mut Conn, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    conn.all(&OF_BANNED, args![at_most]).await
}

/// Open jobs of an organization, oldest first, after the last one of a page; at most `at_most`. Includes their acceptance times.
pub async fn open_of(
    conn: &mut Conn,
    org: OrgNo,
    after: Option<(Millis, JobNo)>,
    at_most: i64,
) -> Result<Vec<(Millis, JobNo)>> {
    let (at, no) = after.unwrap_or((Millis(i64::MIN), JobNo(i64::MIN)));
    conn.all(&OPEN_OF, args![org, at, no, at_most]).await
}

/// Whether a job is still [`stalled`] or of a banned organization ([`of_banned`]). It stays so until the transaction ends: lifting
/// a restriction waits for the job's row.
pub async fn is_to_stop(tx: &mut Tx, org: OrgNo, job: JobNo, since: Millis, now: Millis) -> Result<bool> {
    lock(tx, org, job).await?;
    tx.has(&IS_TO_STOP, args![org, job, since, now - LATELY_MS]).await
}

/// Restarts the timers of an organization's jobs after it was restricted or reactivated.
pub async fn waits(tx: &mut Tx, org: OrgNo, now: Millis) -> Result<()> {
    tx.execute(&WAITS, args![org, now]).await.map(drop)
}
