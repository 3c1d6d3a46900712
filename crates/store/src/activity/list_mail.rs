//! Mail to members about the end of a list: it waits for the list, then for a relay.
//!
//! As with other mail, [`claim`] leases what is due to one run, and [`record()`] is fenced by the run's name.

use probity_account::id::{JobId, UserId};
use probity_account::language::PageLanguage;
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Mail about a list, claimed by a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedListMail {
    pub org: OrgNo,
    pub job: JobNo,
    /// Member who requested it, and their address.
    pub user: UserId,
    pub email: String,
    /// Language of the member, if known.
    pub language: Option<PageLanguage>,
    pub id: JobId,
    /// Name of the list.
    pub title: Option<String>,
    pub rows: i64,
    pub processed: i64,
    pub passed: i64,
    /// End of the list.
    pub finished_at: Millis,
    /// Finished attempts.
    pub attempts: i64,
    /// Name of the run.
    pub run: String,
}

statements! {
    ASK = "INSERT INTO list_mail (org_no, job_no, user_id, created_at, attempts) VALUES ($1, $2, $3, $4, 0) \
           ON CONFLICT (org_no, job_no, user_id) DO NOTHING";
    UNASK = "DELETE FROM list_mail WHERE org_no = $1 AND job_no = $2 AND user_id = $3";
    ASKED = "SELECT 1 AS one FROM list_mail WHERE org_no = $1 AND job_no = $2 AND user_id = $3";
    DUE = "UPDATE list_mail SET next_at = $3 WHERE org_no = $1 AND job_no = $2";
    ANY_DUE = "SELECT 1 AS one FROM list_mail WHERE next_at IS NOT NULL AND next_at <= $1 \
               AND (lease_until IS NULL OR lease_until <= $1) LIMIT 1";
    CLAIM = "WITH due AS MATERIALIZED (
            SELECT org_no, job_no, user_id FROM list_mail WHERE next_at IS NOT NULL AND next_at <= $1
            AND (lease_until IS NULL OR lease_until <= $1) ORDER BY next_at LIMIT $2 {skip_locked})
        UPDATE list_mail SET lease_until = $3, run = $4 WHERE (org_no, job_no, user_id) IN (SELECT org_no, job_no, user_id FROM due)";
    HELD = "SELECT m.org_no, m.job_no, m.user_id, m.attempts, m.run, u.email, u.language, j.id, j.title, j.rows_total, j.processed, j.passed, \
            j.finished_at FROM list_mail m JOIN users u ON u.org_no = m.org_no AND u.id = m.user_id \
            JOIN job j ON j.org_no = m.org_no AND j.job_no = m.job_no WHERE m.next_at IS NOT NULL AND m.run = $1 \
            AND u.email IS NOT NULL AND u.status = 'active' AND j.deleted_at IS NULL AND j.finished_at IS NOT NULL ORDER BY m.next_at LIMIT $2";
    // The member or the list no longer exists.
    DROP = "DELETE FROM list_mail WHERE next_at IS NOT NULL AND run = $1 AND NOT EXISTS (SELECT 1 FROM users u JOIN job j \
            ON j.org_no = list_mail.org_no AND j.job_no = list_mail.job_no WHERE u.org_no = list_mail.org_no \
            AND u.id = list_mail.user_id AND u.email IS NOT NULL AND u.status = 'active' AND j.deleted_at IS NULL)";
    AGAIN = "UPDATE list_mail SET attempts = attempts + 1, next_at = $5, lease_until = NULL, run = NULL \
             WHERE org_no = $1 AND job_no = $2 AND user_id = $3 AND run = $4";
    OVER = "DELETE FROM list_mail WHERE org_no = $1 AND job_no = $2 AND user_id = $3 AND run = $4";
}

/// Requests mail to a member when a list ends.
pub async fn ask(tx: &mut Tx, org: OrgNo, job: JobNo, user: UserId, now: Millis) -> Result<()> {
    tx.execute(&ASK, args![org, job, user, now]).await.map(drop)
}

/// Withdraws the request.
pub async fn unask(tx: &mut Tx, org: OrgNo, job: JobNo, user: UserId) -> Result<()> {
    tx.execute(&UNASK, args![org, job, user]).await.map(drop)
}

/// Returns whether a member gets mail when a list ends.
pub async fn asked(conn: &mut Conn, org: OrgNo, job: JobNo, user: UserId) -> Result<bool> {
    conn.has(&ASKED, args![org, job, user]).await
}

/// Makes the mail about an ended list due.
pub(crate) async fn due(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<()> {
    tx.execute(&DUE, args![org, job, now]).await.map(drop)
}

/// Whether [`claim`] would find work: reads only, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_DUE, args![now]).await
}

/// Leases up to `at_most` due mails to a run. `run` must be a text that no other claim uses: a random one. Mail about lists that
/// were deleted, and to members who left, is dropped.
pub async fn claim(tx: &mut Tx, now: Millis, lease_ms: i64, run: &str, at_most: u32) -> Result<Vec<ClaimedListMail>> {
    if tx.execute(&CLAIM, args![now, at_most, now + lease_ms, run]).await? == 0 {
        return Ok(Vec::new());
    }
    tx.execute(&DROP, args![run]).await?;
    tx.all(&HELD, args![run, at_most]).await
}

records!(row => ClaimedListMail {
    org = "org_no", job = "job_no", user = "user_id", id, title, rows = "rows_total", processed, passed, finished_at,
    attempts, run;
    email: row.text("email")?,
    language: row.language()?,
});

/// Records the outcome of an attempt: retried at `again`, or finished if that is `None`. [`StoreError::LeaseLost`]: it was dropped
/// meanwhile, or another run has it.
pub async fn record(tx: &mut Tx, claimed: &ClaimedListMail, again: Option<Millis>) -> Result<()> {
    match again {
        Some(at) => tx.change(&AGAIN, args!(claimed => org, job, user, run; at), StoreError::LeaseLost).await,
        None => tx.change(&OVER, args!(claimed => org, job, user, run), StoreError::LeaseLost).await,
    }
}
