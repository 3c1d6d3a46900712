//! Sessions of people who are signed in. Of a session's token only a keyed hash is stored.
//!
//! A session counts as long as it was used lately, was begun not too long ago, and its person may sign in; each request asks,
//! so that what is revoked on one node is over on all of them with the next request.

use probity_account::id::{OrgId, SessionId, UserId};
use probity_account::role::Role;
use probity_mail::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::organization::OrgStatus;
use crate::passwords::Hash;

/// A session without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Whose organization.
    pub org: OrgNo,
    /// By it people tell their sessions apart.
    pub id: SessionId,
    /// Whose.
    pub user: UserId,
    /// Which browser on which system.
    pub client: String,
    /// When the person signed in.
    pub created_at: Millis,
    /// When it was used last, to the minute.
    pub seen_at: Millis,
}

/// How long sessions last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Without being used, in milliseconds.
    pub idle_ms: i64,
    /// In all, in milliseconds.
    pub absolute_ms: i64,
}

impl Session {
    /// Whether it has ended by itself.
    pub fn is_over(&self, lifetimes: Lifetimes, now: Millis) -> bool {
        now.since(self.seen_at) >= lifetimes.idle_ms || now.since(self.created_at) >= lifetimes.absolute_ms
    }
}

/// A session and what must be known of its person and organization to answer a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// The person's address; the owner of a new installation may have none.
    pub email: Option<String>,
    /// What the person is called.
    pub name: Option<String>,
    /// What the person may do.
    pub role: Role,
    /// Whether the organization is theirs.
    pub is_primary: bool,
    /// Whether a second factor is asked for when they sign in.
    pub second_factor: bool,
    /// The organization's id.
    pub org_id: OrgId,
    /// What the organization is called.
    pub org_name: Option<String>,
    /// Where the organization stands.
    pub org_status: OrgStatus,
    /// The name of the organization's plan.
    pub org_plan: String,
    /// Requests a minute that the operator allows the organization.
    pub org_rate_limit_per_minute: Option<i64>,
    /// Requests a minute that the organization wishes for itself.
    pub org_wished_per_minute: Option<i64>,
}

statements! {
    INSERT = "INSERT INTO session (org_no, id, user_id, token_hash, client, created_at, seen_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $6)";
    TRIM = "DELETE FROM session WHERE org_no = $1 AND user_id = $2 AND id NOT IN (\
            SELECT id FROM session WHERE org_no = $1 AND user_id = $2 ORDER BY seen_at DESC, id DESC LIMIT $3)";
    BY_TOKEN = "SELECT s.org_no, s.id, s.user_id, s.client, s.created_at, s.seen_at, u.email, u.name, u.role, u.is_primary, \
                f.confirmed_at, o.id AS org_id, o.name AS org_name, o.status AS org_status, o.plan AS org_plan, \
                o.rate_limit_per_minute AS org_rate, w.rate_limit_per_minute AS org_wish \
                FROM session s JOIN users u ON u.org_no = s.org_no AND u.id = s.user_id \
                JOIN org o ON o.org_no = s.org_no LEFT JOIN org_settings w ON w.org_no = s.org_no \
                LEFT JOIN second_factor f ON f.org_no = s.org_no AND f.user_id = s.user_id \
                WHERE s.token_hash = $1 AND u.status = 'active'";
    OF_USER = "SELECT org_no, id, user_id, client, created_at, seen_at FROM session \
               WHERE org_no = $1 AND user_id = $2 AND seen_at > $3 AND created_at > $4 ORDER BY seen_at DESC, id DESC";
    TOUCH = "UPDATE session SET seen_at = $3 WHERE org_no = $1 AND id = $2 AND seen_at < $3";
    RENEW = "UPDATE session SET token_hash = $3 WHERE org_no = $1 AND id = $2";
    REVOKE = "DELETE FROM session WHERE org_no = $1 AND user_id = $2 AND id = $3";
    REVOKE_OTHERS = "DELETE FROM session WHERE org_no = $1 AND user_id = $2 AND id <> $3";
    REVOKE_ALL = "DELETE FROM session WHERE org_no = $1 AND user_id = $2";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, id FROM session WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2 {skip_locked})
        DELETE FROM session WHERE (org_no, id) IN (SELECT org_no, id FROM old)";
}

/// Begins a session. Of a person's sessions those that were used last are kept, `at_most` in all.
pub async fn begin(tx: &mut Tx, session: &Session, token_hash: &Hash, at_most: i64) -> Result<()> {
    let Session { org, id, user, client, created_at, .. } = session;
    let user = user.to_string();
    let values = args![*org, id.to_string(), user.as_str(), token_hash, client.as_str(), *created_at];
    tx.execute(&INSERT, values).await?;
    tx.execute(&TRIM, args![*org, user, at_most]).await?;
    Ok(())
}

/// The session with a token, ended ones included; none where its person may not sign in.
pub async fn by_token(conn: &mut Conn, token_hash: &Hash) -> Result<Option<SignedIn>> {
    let Some(row) = conn.first(&BY_TOKEN, args![token_hash]).await? else { return Ok(None) };
    let email: Option<Vec<u8>> = row.get("email")?;
    let role: String = row.get("role")?;
    Ok(Some(SignedIn {
        session: read(&row)?,
        email: email.map(String::from_utf8).transpose().map_err(|error| StoreError::Corrupt(error.into()))?,
        name: row.get("name")?,
        role: Role::from_name(&role).ok_or_else(|| StoreError::corrupt("a person's role"))?,
        is_primary: row.get::<i64>("is_primary")? == 1,
        second_factor: row.get::<Option<i64>>("confirmed_at")?.is_some(),
        org_id: row.parse("org_id")?,
        org_name: row.get("org_name")?,
        org_status: row.parse("org_status")?,
        org_plan: row.get("org_plan")?,
        org_rate_limit_per_minute: row.get("org_rate")?,
        org_wished_per_minute: row.get("org_wish")?,
    }))
}

/// A person's sessions that have not ended, the one that was used last first.
pub async fn of_user(
    conn: &mut Conn,
    org: OrgNo,
    user: UserId,
    lifetimes: Lifetimes,
    now: Millis,
) -> Result<Vec<Session>> {
    let (seen_after, begun_after) = (now - lifetimes.idle_ms, now - lifetimes.absolute_ms);
    conn.rows(&OF_USER, args![org, user.to_string(), seen_after, begun_after]).await?.iter().map(read).collect()
}

/// Notes that a session was used.
pub async fn touch(tx: &mut Tx, org: OrgNo, id: SessionId, now: Millis) -> Result<()> {
    tx.execute(&TOUCH, args![org, id.to_string(), now]).await?;
    Ok(())
}

/// Gives a session another token: the one before opens nothing any more. Not found: it was revoked.
pub async fn renew(tx: &mut Tx, org: OrgNo, id: SessionId, token_hash: &Hash) -> Result<()> {
    some(tx.execute(&RENEW, args![org, id.to_string(), token_hash]).await?)
}

/// Ends one of a person's sessions. Not found: they have no such session.
pub async fn revoke(tx: &mut Tx, org: OrgNo, user: UserId, id: SessionId) -> Result<()> {
    some(tx.execute(&REVOKE, args![org, user.to_string(), id.to_string()]).await?)
}

/// Ends all of a person's sessions but one, or all, and says how many those were.
pub async fn revoke_all(tx: &mut Tx, org: OrgNo, user: UserId, but: Option<SessionId>) -> Result<u64> {
    match but {
        Some(id) => tx.execute(&REVOKE_OTHERS, args![org, user.to_string(), id.to_string()]).await,
        None => tx.execute(&REVOKE_ALL, args![org, user.to_string()]).await,
    }
}

/// Removes up to `at_most` sessions that were not used since a time, the oldest first, and says how many those were.
pub async fn purge(tx: &mut Tx, since: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![since, i64::from(at_most)]).await
}

fn some(rows: u64) -> Result<()> {
    if rows == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

fn read(row: &Row) -> Result<Session> {
    Ok(Session {
        org: OrgNo(row.get("org_no")?),
        id: row.parse("id")?,
        user: row.parse("user_id")?,
        client: row.get("client")?,
        created_at: Millis(row.get("created_at")?),
        seen_at: Millis(row.get("seen_at")?),
    })
}
