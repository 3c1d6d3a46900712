//! Mail queue for owners: mail stays here until a relay has accepted it.
//!
//! At most one mail of each kind is queued: a repeated event is reported once, and an event that is over is not reported. [`claim`]
//! leases due mail to one run; [`record()`] writes the outcome and is fenced by the run's name. Mail to an owner without an address
//! is never claimed.

use probity_account::language::PageLanguage;
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

probity_mail::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NoticeKind {
        /// The balance fell below its threshold.
        LowBalance = "low_balance",
        /// A platform refuses the credentials of a connection.
        ConnectionLost = "connection_lost",
    }
}
crate::records::names!(NoticeKind);

/// Notice claimed by a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedNotice {
    pub org: OrgNo,
    pub notice: NoticeKind,
    /// Owner's address.
    pub email: String,
    /// Owner's language, if known.
    pub language: Option<PageLanguage>,
    pub org_name: Option<String>,
    /// Time of the event.
    pub created_at: Millis,
    /// Finished attempts.
    pub attempts: i64,
    /// Connections whose credentials are refused, as name and platform, for a notice about them. At most [`NAMED_MAX`].
    pub connections: Vec<(String, String)>,
    /// Name of the run.
    pub run: String,
}

/// Maximum number of connections that a notice names.
const NAMED_MAX: i64 = 20;
/// Maximum of the queue count.
const COUNTED_MAX: i64 = 10_000;

statements! {
    PUT = "INSERT INTO notice (org_no, kind, created_at, attempts, next_at) VALUES ($1, $2, $3, 0, $3) \
           ON CONFLICT (org_no, kind) DO UPDATE SET created_at = excluded.created_at, attempts = 0, \
           next_at = excluded.next_at, lease_until = NULL, run = NULL";
    DROP = "DELETE FROM notice WHERE org_no = $1 AND kind = $2";
    ANY_DUE = "SELECT 1 AS one FROM notice n JOIN users u ON u.org_no = n.org_no AND u.is_primary = 1 \
               WHERE n.next_at <= $1 AND (n.lease_until IS NULL OR n.lease_until <= $1) AND u.email IS NOT NULL LIMIT 1";
    CLAIM = "WITH due AS MATERIALIZED (
            SELECT org_no, kind FROM notice WHERE next_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)
            AND org_no IN (SELECT users.org_no FROM users WHERE users.org_no = notice.org_no AND users.is_primary = 1
            AND users.email IS NOT NULL) ORDER BY next_at LIMIT $2 {skip_locked})
        UPDATE notice SET lease_until = $3, run = $4 WHERE (org_no, kind) IN (SELECT org_no, kind FROM due)";
    HELD = "SELECT n.org_no, n.kind, n.created_at, n.attempts, n.run, u.email, u.language, o.name AS org_name FROM notice n \
            JOIN users u ON u.org_no = n.org_no AND u.is_primary = 1 JOIN org o ON o.org_no = n.org_no \
            WHERE n.run = $1 AND u.email IS NOT NULL ORDER BY n.next_at LIMIT $2";
    AGAIN = "UPDATE notice SET attempts = attempts + 1, next_at = $4, lease_until = NULL, run = NULL \
             WHERE org_no = $1 AND kind = $2 AND run = $3";
    // Includes mail with links ([`crate::accounts::users::invitations`]), reports, and mail about completed lists.
    COUNT_WAITING = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM notice LIMIT $1) AS part) \
                     + (SELECT COUNT(*) FROM (SELECT 1 AS one FROM invitation WHERE mail_state = 'waiting' LIMIT $1) AS more) \
                     + (SELECT COUNT(*) FROM (SELECT 1 AS one FROM report_mail WHERE next_at IS NOT NULL LIMIT $1) AS reports) \
                     + (SELECT COUNT(*) FROM (SELECT 1 AS one FROM list_mail WHERE next_at IS NOT NULL LIMIT $1) AS lists) \
                     AS waiting";
    LOST = "SELECT name, provider FROM connection WHERE org_no = $1 AND disconnected_why = 'credential' \
            ORDER BY disconnected_at DESC, id DESC LIMIT $2";
    OVER = "DELETE FROM notice WHERE org_no = $1 AND kind = $2 AND run = $3";
}

/// Queues a notice, in place of a queued one of the same kind.
pub async fn put(tx: &mut Tx, org: OrgNo, notice: NoticeKind, now: Millis) -> Result<()> {
    tx.execute(&PUT, args![org, notice.as_str(), now]).await.map(drop)
}

/// Drops the notice about lost connections once none is left.
pub async fn drop_repaired(tx: &mut Tx, org: OrgNo) -> Result<()> {
    if lost(tx, org).await?.is_empty() { drop_one(tx, org, NoticeKind::ConnectionLost).await } else { Ok(()) }
}

async fn lost(tx: &mut Tx, org: OrgNo) -> Result<Vec<(String, String)>> {
    tx.all(&LOST, args![org, NAMED_MAX]).await
}

/// Drops a notice whose event is over.
pub async fn drop_one(tx: &mut Tx, org: OrgNo, notice: NoticeKind) -> Result<()> {
    tx.execute(&DROP, args![org, notice.as_str()]).await.map(drop)
}

/// Mail waiting for a relay, for the metrics: notices, links for new users, reports, and mail about completed lists, up to 10,000.
pub async fn waiting(conn: &mut Conn) -> Result<i64> {
    Ok(conn.one::<i64>(&COUNT_WAITING, args![COUNTED_MAX]).await?.min(COUNTED_MAX))
}

/// Whether [`claim`] would find work: reads only, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_DUE, args![now]).await
}

/// Leases up to `at_most` due notices to a run. `run` must be a text that no other claim uses: a random one.
pub async fn claim(tx: &mut Tx, now: Millis, lease_ms: i64, run: &str, at_most: u32) -> Result<Vec<ClaimedNotice>> {
    if tx.execute(&CLAIM, args![now, at_most, now + lease_ms, run]).await? == 0 {
        return Ok(Vec::new());
    }
    let mut claimed: Vec<ClaimedNotice> = tx.all(&HELD, args![run, at_most]).await?;
    for notice in claimed.iter_mut().filter(|claimed| claimed.notice == NoticeKind::ConnectionLost) {
        notice.connections = lost(tx, notice.org).await?;
    }
    Ok(claimed)
}

records!(row => ClaimedNotice {
    org = "org_no", notice = "kind", org_name, created_at, attempts, run;
    email: row.text("email")?,
    language: row.language()?,
    connections: Vec::new(),
});

/// Records the outcome of an attempt: retried at `again`, or finished if that is `None`. [`StoreError::LeaseLost`]: it was replaced
/// or dropped meanwhile, or another run has it.
pub async fn record(tx: &mut Tx, claimed: &ClaimedNotice, again: Option<Millis>) -> Result<()> {
    match again {
        Some(at) => tx.change(&AGAIN, args!(claimed => org, notice, run; at), StoreError::LeaseLost).await,
        None => tx.change(&OVER, args!(claimed => org, notice, run), StoreError::LeaseLost).await,
    }
}
