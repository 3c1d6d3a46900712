//! Connections: their settings, their credentials, and whether they are active.
//!
//! Callers encrypt the credentials, and only [`credentials`] reads them. New credentials may belong to another account of
//! the platform, so [`reconnect`] then removes what runs have stored about the earlier one.

use probity_account::connections::ConnectionSettings;
use probity_account::id::ConnId;
use probity_mail::time::Millis;

use super::{hooks, schedule, tokens};
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::{self, OrgNo};
use crate::records::{TypedStatements as _, damaged, records};

/// Keyed hash of a platform and the credentials of an account.
pub type AccountTag = [u8; 16];

/// Connection without its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredConnection {
    pub org: OrgNo,
    pub id: ConnId,
    /// Whether a test key created it.
    pub test: bool,
    /// Canonical name of the platform.
    pub provider: String,
    pub name: String,
    /// Time and reason of the disconnection; `None` for an active connection.
    pub disconnected: Option<(Millis, Disconnection)>,
    pub account_tag: AccountTag,
    pub settings: ConnectionSettings,
    pub blacklist_count: i64,
    pub whitelist_count: i64,
    /// Creation time up to which the last complete run saw every contact.
    pub watermark: Option<Millis>,
    /// Time at which a user first let a run act, with settings and rules that asked for at least as much.
    pub trusted_at: Option<Millis>,
    pub created_at: Millis,
    /// End of the last complete run.
    pub last_synced_at: Option<Millis>,
}

probity_mail::named! {
    /// Reason of a disconnection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Disconnection {
        /// Deleted by a user or a key.
        Deleted = "deleted",
        /// Credentials refused by the platform.
        Credential = "credential",
    }
}
crate::records::names!(Disconnection);

/// IDs of tags and fields at the platform (JSON), which only earlier versions store.
const NO_MEMORY: &str = "{}";
/// Maximum number of connections that a notice names.
const LOST_MAX: i64 = 20;

/// Columns of a connection.
macro_rules! columns {
    () => {
        "org_no, id, test, provider, name, disconnected_why, disconnected_at, account_tag, settings, \
         blacklist_count, whitelist_count, watermark, trusted_at, created_at, last_synced_at"
    };
}

statements! {
    COUNT = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM connection WHERE org_no = $1 \
             AND (disconnected_why IS NULL OR disconnected_why <> 'deleted') LIMIT $2) AS part) AS n";
    INSERT = "INSERT INTO connection (org_no, id, test, provider, name, account_tag, created_at, settings, memory, credentials, \
              status, blacklist_count, whitelist_count) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'active', 0, 0)";
    BY_ID = concat!("SELECT ", columns!(), " FROM connection WHERE org_no = $1 AND id = $2 AND test = $3");
    LOCK = concat!("SELECT ", columns!(), " FROM connection WHERE org_no = $1 AND id = $2 AND test = $3 {for_update}");
    // Limited by the maximum number of connections of an organization.
    ACTIVE = concat!("SELECT ", columns!(), " FROM connection WHERE org_no = $1 AND test = $2 AND status = 'active' \
             ORDER BY created_at DESC, id DESC LIMIT $3");
    ACTIVE_OF = concat!("SELECT ", columns!(), " FROM connection WHERE org_no = $1 AND test = $2 AND provider = $3 \
                AND status = 'active' ORDER BY created_at DESC, id DESC LIMIT $4");
    FORMER_OF = concat!("SELECT ", columns!(), " FROM connection WHERE org_no = $1 AND test = $2 AND provider = $3 \
                AND status = 'disconnected' ORDER BY created_at DESC, id DESC LIMIT $4");
    FORMER = "SELECT provider FROM connection WHERE org_no = $1 AND test = $2 AND status = 'disconnected' \
              ORDER BY created_at DESC, id DESC LIMIT $3";
    OF_ACCOUNT = "SELECT id FROM connection WHERE org_no = $1 AND account_tag = $2 AND id <> $3";
    OTHER_LOST = "SELECT 1 AS one FROM connection WHERE org_no = $1 AND account_tag = $2 AND id <> $3 \
                  AND disconnected_why = 'credential' LIMIT 1";
    LOST = "SELECT name, provider FROM connection WHERE org_no = $1 AND disconnected_why = 'credential' \
            ORDER BY disconnected_at DESC, id DESC LIMIT $2";
    WRITE = "UPDATE connection SET name = $3, watermark = $4, trusted_at = $5, settings = $6 WHERE org_no = $1 AND id = $2";
    RECONNECT = "UPDATE connection SET status = 'active', disconnected_why = NULL, disconnected_at = NULL, credentials = $3, \
                 account_tag = $4, watermark = NULL, trusted_at = NULL WHERE org_no = $1 AND id = $2";
    DISCONNECT = "UPDATE connection SET status = 'disconnected', disconnected_why = $3, disconnected_at = $4 \
                  WHERE org_no = $1 AND id = $2 AND status = 'active'";
    TAG = "SELECT account_tag FROM connection WHERE org_no = $1 AND id = $2";
    DELETE = "UPDATE connection SET status = 'disconnected', disconnected_why = 'deleted', disconnected_at = $3, \
              credentials = NULL WHERE org_no = $1 AND id = $2";
    CREDENTIALS = "SELECT credentials FROM connection WHERE org_no = $1 AND id = $2";
    OLDEST_DELETED = "SELECT org_no, id FROM connection WHERE disconnected_why = 'deleted' AND disconnected_at < $1 \
                      ORDER BY disconnected_at LIMIT 1 {skip_locked}";
    DROP_RULES = "DELETE FROM connection_rule WHERE org_no = $1 AND id IN (SELECT id FROM connection_rule \
                  WHERE org_no = $1 AND connection_id = $2 LIMIT $3)";
    DROP_MARKS = "DELETE FROM contact_mark WHERE org_no = $1 AND connection_id = $2 AND contact IN \
                  (SELECT contact FROM contact_mark WHERE org_no = $1 AND connection_id = $2 LIMIT $3)";
    DROP_SCHEDULES = "DELETE FROM connection_schedule WHERE org_no = $1 AND connection_id = $2 AND cause IN \
                      (SELECT cause FROM connection_schedule WHERE org_no = $1 AND connection_id = $2 LIMIT $3)";
    DROP = "DELETE FROM connection WHERE org_no = $1 AND id = $2";
}

/// Creates a connection with its encrypted credentials. Returns false if its organization already has `at_most`, not
/// counting deleted ones.
pub async fn insert(tx: &mut Tx, new: &StoredConnection, credentials: &[u8], at_most: i64) -> Result<bool> {
    if !has_room(tx, new.org, at_most).await? {
        return Ok(false);
    }
    let values = args!(new => org, id, test, provider, name, account_tag, created_at; json(&new.settings)?, NO_MEMORY,
        credentials);
    tx.execute(&INSERT, values).await?;
    Ok(true)
}

async fn has_room(tx: &mut Tx, org: OrgNo, at_most: i64) -> Result<bool> {
    // Concurrent creations wait for each other, so each counts the connections before it.
    number::lock(tx, org).await?;
    Ok(tx.one::<i64>(&COUNT, args![org, at_most]).await? < at_most)
}

/// Returns a connection, for keys of its mode (live or test).
pub async fn by_id(conn: &mut Conn, org: OrgNo, id: ConnId, test: bool) -> Result<StoredConnection> {
    conn.one(&BY_ID, args![org, id, test]).await
}

/// Returns a connection like [`by_id`], locked until the transaction ends.
pub async fn lock(tx: &mut Tx, org: OrgNo, id: ConnId, test: bool) -> Result<StoredConnection> {
    tx.one(&LOCK, args![org, id, test]).await
}

/// Returns active connections to all platforms, newest first.
pub async fn active(conn: &mut Conn, org: OrgNo, test: bool, at_most: i64) -> Result<Vec<StoredConnection>> {
    conn.all(&ACTIVE, args![org, test, at_most]).await
}

/// Returns the organization's other connections to the account of a connection.
pub async fn others_of_account(conn: &mut Conn, org: OrgNo, account: &[u8], id: ConnId) -> Result<Vec<ConnId>> {
    conn.all(&OF_ACCOUNT, args![org, account, id]).await
}

/// Returns active connections to a platform, newest first.
pub async fn active_of(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    provider: &str,
    at_most: i64,
) -> Result<Vec<StoredConnection>> {
    conn.all(&ACTIVE_OF, args![org, test, provider, at_most]).await
}

/// Returns disconnected connections to a platform, newest first.
pub async fn former_of(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    provider: &str,
    at_most: i64,
) -> Result<Vec<StoredConnection>> {
    conn.all(&FORMER_OF, args![org, test, provider, at_most]).await
}

/// Returns the platform of each disconnected connection, newest first.
pub async fn former_providers(conn: &mut Conn, org: OrgNo, test: bool, at_most: i64) -> Result<Vec<String>> {
    conn.all(&FORMER, args![org, test, at_most]).await
}

/// Replaces name, settings, watermark and trust of a locked connection.
pub async fn write(tx: &mut Tx, connection: &StoredConnection) -> Result<()> {
    let values = args!(connection => org, id, name, watermark, trusted_at; json(&connection.settings)?);
    tx.execute(&WRITE, values).await.map(drop)
}

/// Replaces the credentials of a locked connection and activates it. Returns false if the connection was deleted and its
/// organization has `at_most` others.
pub async fn reconnect(
    tx: &mut Tx,
    connection: &StoredConnection,
    credentials: &[u8],
    tag: &AccountTag,
    at_most: i64,
) -> Result<bool> {
    let was_deleted = connection.disconnected.is_some_and(|(_, why)| why == Disconnection::Deleted);
    if was_deleted && !has_room(tx, connection.org, at_most).await? {
        return Ok(false);
    }
    let StoredConnection { org, id, account_tag, .. } = connection;
    tx.execute(&RECONNECT, args![org, id, credentials, tag]).await?;
    tokens::drop_unused(tx, *org, account_tag).await?;
    schedule::resume(tx, *org, *id).await?;
    hooks::resume(tx, *org, *id).await?;
    Ok(true)
}

/// Disconnects an active connection because the platform refuses its credentials, which are kept. Returns false if it was
/// not active.
pub async fn disconnect(tx: &mut Tx, org: OrgNo, id: ConnId, at: Millis) -> Result<bool> {
    // Runs first, because every change of a connection locks it before its schedules.
    let is_active = tx.execute(&DISCONNECT, args![org, id, Disconnection::Credential, at]).await? == 1;
    schedule::pause(tx, org, id).await?;
    hooks::pause(tx, org, id).await?;
    Ok(is_active)
}

/// Returns whether the platform refuses the same credentials in another connection of the organization.
pub async fn is_other_lost(conn: &mut Conn, of: &StoredConnection) -> Result<bool> {
    conn.has(&OTHER_LOST, args!(of => org, account_tag, id)).await
}

/// Names and platforms of the connections whose credentials are refused, the last refused first; at most [`LOST_MAX`].
pub async fn lost(conn: &mut Conn, org: OrgNo) -> Result<Vec<(String, String)>> {
    conn.all(&LOST, args![org, LOST_MAX]).await
}

/// Deletes a locked connection and erases its credentials.
pub async fn delete(tx: &mut Tx, org: OrgNo, id: ConnId, at: Millis) -> Result<()> {
    schedule::pause(tx, org, id).await?;
    hooks::remove(tx, org, id).await?;
    tx.execute(&DELETE, args![org, id, at]).await?;
    let tag = tx.one(&TAG, args![org, id]).await?;
    tokens::drop_unused(tx, org, &tag).await
}

/// Returns the encrypted credentials; `None` if there are none.
pub async fn credentials(conn: &mut Conn, org: OrgNo, id: ConnId) -> Result<Option<Vec<u8>>> {
    Ok(conn.find(&CREDENTIALS, args![org, id]).await?.flatten())
}

/// Removes up to `at_most` rows of the connection that was deleted first, before a time, and finally the connection; otherwise
/// tokens of connections that were never created. Returns the number of rows.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    let oldest: Option<(OrgNo, ConnId)> = tx.find(&OLDEST_DELETED, args![before]).await?;
    let Some((org, id)) = oldest else { return tokens::purge(tx, before).await };
    let mut removed = 0;
    for part in [&DROP_RULES, &DROP_MARKS, &DROP_SCHEDULES] {
        let left = i64::from(at_most).saturating_sub(i64::try_from(removed).unwrap_or(i64::MAX));
        if left == 0 {
            return Ok(removed);
        }
        removed += tx.execute(part, args![org, id, left]).await?;
    }
    if removed < u64::from(at_most) {
        removed += tx.execute(&DROP, args![org, id]).await?;
    }
    Ok(removed)
}

pub(super) fn json(settings: &ConnectionSettings) -> Result<String> {
    serde_json::to_string(settings).map_err(damaged)
}

records!(row => StoredConnection {
    org = "org_no", id, test, provider, name, account_tag, blacklist_count, whitelist_count, watermark, trusted_at,
    created_at, last_synced_at;
    disconnected: row.read::<Option<_>>("disconnected_at")?.zip(row.read("disconnected_why")?),
    settings: row.json("settings")?,
});
