//! Sessions of signed-in users. Only a keyed hash of a session's token is stored.
//!
//! A session is valid if it was used lately, began not too long ago, and its user may sign in. Each request checks that, so a
//! session revoked on one node ends on all nodes with the next request.

use probity_account::id::{OrgId, SessionId, UserId};
use probity_account::language::PageLanguage;
use probity_account::role::MemberRole;
use probity_mail::time::Millis;

use crate::accounts::organization::OrgState;
use crate::accounts::people::passwords::SecretHash;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Session without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    pub org: OrgNo,
    /// Id by which users tell their sessions apart.
    pub id: SessionId,
    pub user: UserId,
    /// Browser and system.
    pub client: String,
    pub created_at: Millis,
    /// Last use, to the minute.
    pub seen_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLifetimes {
    /// Without use, in milliseconds.
    pub idle_ms: i64,
    /// In total, in milliseconds.
    pub absolute_ms: i64,
}

impl StoredSession {
    /// Whether it has expired.
    pub fn is_over(&self, lifetimes: SessionLifetimes, now: Millis) -> bool {
        now.since(self.seen_at) >= lifetimes.idle_ms || now.since(self.created_at) >= lifetimes.absolute_ms
    }
}

/// A session, and what requests need to know about its user and organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedInUser {
    pub session: StoredSession,
    /// The user's address; the owner of a new installation may have none.
    pub email: Option<String>,
    pub name: Option<String>,
    /// Language of the user's mail and pages, if known.
    pub language: Option<PageLanguage>,
    pub role: MemberRole,
    /// Whether they are the owner.
    pub is_primary: bool,
    /// Whether sign-in requires two-factor authentication.
    pub second_factor: bool,
    pub org_id: OrgId,
    pub org_name: Option<String>,
    /// State of the organization.
    pub org_status: OrgState,
    pub org_plan: String,
    /// Operator's limit for the organization, in requests per minute.
    pub org_rate_limit_per_minute: Option<i64>,
    /// Organization's own limit, in requests per minute.
    pub org_wished_per_minute: Option<i64>,
}

statements! {
    INSERT = "INSERT INTO session (org_no, id, user_id, client, created_at, seen_at, token_hash) \
              VALUES ($1, $2, $3, $4, $5, $5, $6)";
    TRIM = "DELETE FROM session WHERE org_no = $1 AND user_id = $2 AND id NOT IN (\
            SELECT id FROM session WHERE org_no = $1 AND user_id = $2 ORDER BY seen_at DESC, id DESC LIMIT $3)";
    BY_TOKEN = "SELECT s.org_no, s.id, s.user_id, s.client, s.created_at, s.seen_at, u.email, u.name, u.language, u.role, u.is_primary, \
                f.confirmed_at, o.id AS org_id, o.name AS org_name, o.status AS org_status, o.plan AS org_plan, \
                o.rate_limit_per_minute AS org_rate, w.rate_limit_per_minute AS org_wish \
                FROM session s JOIN users u ON u.org_no = s.org_no AND u.id = s.user_id \
                JOIN org o ON o.org_no = s.org_no LEFT JOIN org_settings w ON w.org_no = s.org_no \
                LEFT JOIN second_factor f ON f.org_no = s.org_no AND f.user_id = s.user_id \
                WHERE s.token_hash = $1 AND u.status = 'active'";
    OF_USER = "SELECT org_no, id, user_id, client, created_at, seen_at FROM session \
               WHERE org_no = $1 AND user_id = $2 AND seen_at > $3 AND created_at > $4 ORDER BY seen_at DESC, id DESC";
    LAST_USES = "SELECT user_id, MAX(seen_at) AS seen_at FROM session \
                 WHERE org_no = $1 AND seen_at > $2 AND created_at > $3 GROUP BY user_id";
    TOUCH = "UPDATE session SET seen_at = $3 WHERE org_no = $1 AND id = $2 AND seen_at < $3";
    RENEW = "UPDATE session SET token_hash = $3 WHERE org_no = $1 AND id = $2";
    REVOKE = "DELETE FROM session WHERE org_no = $1 AND user_id = $2 AND id = $3";
    REVOKE_OTHERS = "DELETE FROM session WHERE org_no = $1 AND user_id = $2 AND id <> $3";
    REVOKE_ALL = "DELETE FROM session WHERE org_no = $1 AND user_id = $2";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, id FROM session WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2 {skip_locked})
        DELETE FROM session WHERE (org_no, id) IN (SELECT org_no, id FROM old)";
}

/// Begins a session. Keeps the user's `at_most` most recently used sessions, including this one.
pub async fn begin(tx: &mut Tx, session: &StoredSession, token_hash: &SecretHash, at_most: i64) -> Result<()> {
    tx.execute(&INSERT, args!(session => org, id, user, client, created_at; token_hash)).await?;
    tx.execute(&TRIM, args!(session => org, user; at_most)).await.map(drop)
}

/// The session with a token, even if expired; `None` if its user may not sign in.
pub async fn by_token(conn: &mut Conn, token_hash: &SecretHash) -> Result<Option<SignedInUser>> {
    conn.find(&BY_TOKEN, args![token_hash]).await
}

records!(row => SignedInUser {
    name, role, is_primary, org_id, org_name, org_status, org_plan, org_rate_limit_per_minute = "org_rate",
    org_wished_per_minute = "org_wish";
    session: row.record()?,
    email: row.utf8("email")?,
    language: row.language()?,
    second_factor: row.is_set("confirmed_at")?,
});

/// A user's unexpired sessions, the last used first.
pub async fn of_user(
    conn: &mut Conn,
    org: OrgNo,
    user: UserId,
    lifetimes: SessionLifetimes,
    now: Millis,
) -> Result<Vec<StoredSession>> {
    let (seen_after, begun_after) = (now - lifetimes.idle_ms, now - lifetimes.absolute_ms);
    conn.all(&OF_USER, args![org, user, seen_after, begun_after]).await
}

/// Last use of the unexpired sessions of each user of an organization.
pub async fn last_uses(
    conn: &mut Conn,
    org: OrgNo,
    lifetimes: SessionLifetimes,
    now: Millis,
) -> Result<Vec<(UserId, Millis)>> {
    conn.all(&LAST_USES, args![org, now - lifetimes.idle_ms, now - lifetimes.absolute_ms]).await
}

/// Records the use of a session.
pub async fn touch(tx: &mut Tx, org: OrgNo, id: SessionId, now: Millis) -> Result<()> {
    tx.execute(&TOUCH, args![org, id, now]).await.map(drop)
}

/// Replaces a session's token; the former one becomes invalid. [`StoreError::NotFound`]: the session was revoked.
pub async fn renew(tx: &mut Tx, org: OrgNo, id: SessionId, token_hash: &SecretHash) -> Result<()> {
    tx.change(&RENEW, args![org, id, token_hash], StoreError::NotFound).await
}

/// Ends one of a user's sessions. [`StoreError::NotFound`]: they have no such session.
pub async fn revoke(tx: &mut Tx, org: OrgNo, user: UserId, id: SessionId) -> Result<()> {
    tx.change(&REVOKE, args![org, user, id], StoreError::NotFound).await
}

/// Ends all of a user's sessions, except `but` if given; returns the number ended.
pub async fn revoke_all(tx: &mut Tx, org: OrgNo, user: UserId, but: Option<SessionId>) -> Result<u64> {
    match but {
        Some(id) => tx.execute(&REVOKE_OTHERS, args![org, user, id]).await,
        None => tx.execute(&REVOKE_ALL, args![org, user]).await,
    }
}

/// Removes up to `at_most` sessions unused since a time, oldest first; returns the number removed.
pub async fn purge(tx: &mut Tx, since: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![since, at_most]).await
}

records!(row => StoredSession { org = "org_no", id, user = "user_id", client, created_at, seen_at });
