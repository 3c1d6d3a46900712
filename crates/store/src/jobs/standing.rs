//! Jobs that stand still, and those that are to be stopped.
//!
//! A job stands still where it is taken up again and again and nothing comes of it: a chunk at which every worker dies, a list
//! at which every importer dies. One that waits for its turn does not, however long: behind larger ones, or because no node was
//! there to take anything up. So the time does not run from when a job last came on, but only while it is in hand: whoever takes
//! something up of which nothing was in hand within [`LATELY_MS`] starts it anew. Nobody has to note when the service was away.
//!
//! Jobs of organizations that are stopped cannot be taken up at all. Their time runs from the stop ([`waits`]).

use probity_mail::time::Millis;

use super::{JobNo, lock};
use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

/// For how long a job counts as in hand after the lease of whoever had it last, in milliseconds: a day. What fails at every
/// worker is taken up again within minutes; a day without anybody means that it was not its turn.
pub const LATELY_MS: i64 = 24 * 3_600_000;

statements! {
    STALLED = "SELECT j.org_no, j.job_no FROM job j JOIN org o ON o.org_no = j.org_no \
               WHERE j.is_open = 1 AND j.progress_at < $1 AND (o.status IN ('suspended', 'paused', 'banned') \
               OR (j.state = 'importing' AND j.leased_until > $2) \
               OR (j.state = 'processing' AND EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = j.org_no AND c.job_no = j.job_no \
               AND c.leased_until > $2))) ORDER BY j.progress_at, j.org_no, j.job_no LIMIT $3";
    // One of them, looked at again: what is said of all is said here of one.
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

/// Open jobs that have stood still since a time, those of stopped organizations among them.
pub async fn stalled(conn: &mut Conn, since: Millis, now: Millis, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    numbers(&conn.rows(&STALLED, args![since, now - LATELY_MS, at_most]).await?)
}

/// Open jobs of organizations that were stopped for good.
pub async fn of_banned(conn: &mut Conn, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    numbers(&conn.rows(&OF_BANNED, args![at_most]).await?)
}

/// Open jobs of an organization, the oldest first, after the one that a page ended with; at most `at_most`. With the times at which
/// they were accepted.
pub async fn open_of(
    conn: &mut Conn,
    org: OrgNo,
    after: Option<(Millis, JobNo)>,
    at_most: i64,
) -> Result<Vec<(Millis, JobNo)>> {
    let (at, no) = after.unwrap_or((Millis(i64::MIN), JobNo(i64::MIN)));
    let rows = conn.rows(&OPEN_OF, args![org, at, no, at_most]).await?;
    rows.iter().map(|row| Ok((Millis(row.get("created_at")?), JobNo(row.get("job_no")?)))).collect()
}

/// Whether a job is among [`stalled`] ones or those [`of_banned`] organizations still. It stays so until the transaction ends:
/// whoever lets an organization go on waits for the job's row.
pub async fn is_to_stop(tx: &mut Tx, org: OrgNo, job: JobNo, since: Millis, now: Millis) -> Result<bool> {
    lock(tx, org, job).await?;
    Ok(tx.first(&IS_TO_STOP, args![org, job, since, now - LATELY_MS]).await?.is_some())
}

/// An organization was stopped or may go on: from now on its jobs wait for another reason than before.
pub async fn waits(tx: &mut Tx, org: OrgNo, now: Millis) -> Result<()> {
    tx.execute(&WAITS, args![org, now]).await.map(drop)
}

fn numbers(rows: &[Row]) -> Result<Vec<(OrgNo, JobNo)>> {
    rows.iter().map(|row| Ok((OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?)))).collect()
}
