//! Webhooks of connections at their platforms: registrations, and events that make a poll due.
//!
//! A row exists while polls are switched on, and afterwards until the registration is removed at the platform. A worker claims a
//! row with a new version and a deadline ([`claim`]); writes of an earlier holder are rejected. Of an event, only its time is
//! stored: it moves the next poll ([`hasten`]), so repeated, lost and forged events do no harm.
//!
//! The row is locked after its connection's and its schedule's.

use probity_account::id::ConnId;
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, TypedStatements as _, records};

/// Webhook of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionHook {
    pub org: OrgNo,
    pub connection: ConnId,
    /// Whether it is to be registered; otherwise it is to be removed.
    pub is_wanted: bool,
    /// Secrets and registrations, encrypted by the caller; `None` before the first.
    pub keys: Option<Vec<u8>>,
    /// Reason why the last registration failed.
    pub fault: Option<String>,
    /// Consecutive failed attempts.
    pub failures: i64,
    /// Time of the current registration.
    pub registered_at: Option<Millis>,
    pub last_event_at: Option<Millis>,
}

/// Webhook claimed by a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedHook {
    pub hook: ConnectionHook,
    version: i64,
    until: Millis,
}

impl ClaimedHook {
    /// Sets the stored deadline of the claim.
    pub fn held_until(&mut self, until: Millis) {
        self.until = until;
    }
}

/// State after a step of the work on a webhook.
#[derive(Clone, Copy, Debug)]
pub struct HookProgress<'a> {
    pub keys: &'a [u8],
    pub fault: Option<&'a str>,
    pub failures: i64,
    pub registered_at: Option<Millis>,
    /// Time of the next check; during work, the deadline of the claim ([`ClaimedHook::held_until`]).
    pub next_at: Millis,
}

/// Delay with which an event makes a poll due, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct PollHaste {
    /// Delay after the event.
    pub after_ms: i64,
    /// Minimum time between the starts of two polls.
    pub apart_ms: i64,
}

/// Columns of a webhook.
macro_rules! columns {
    () => {
        "h.org_no, h.connection_id, h.wanted, h.keys, h.fault, h.failures, h.registered_at, h.last_event_at"
    };
}

/// Time to which an event moves a poll. $3: delay after the event. $4: minimum time between polls.
macro_rules! hastened {
    () => {
        "CASE WHEN COALESCE(done_at, 0) + CAST($4 AS BIGINT) > CAST($3 AS BIGINT) \
         THEN COALESCE(done_at, 0) + CAST($4 AS BIGINT) ELSE CAST($3 AS BIGINT) END"
    };
}

statements! {
    WANT = "INSERT INTO connection_hook (org_no, connection_id, wanted, failures, version, next_at) VALUES ($1, $2, 1, 0, 0, $3) \
            ON CONFLICT (org_no, connection_id) DO UPDATE SET wanted = 1, failures = 0, fault = NULL, \
            next_at = excluded.next_at WHERE connection_hook.wanted = 0";
    // From now on, a worker may remove the registration, so it is not valid.
    UNWANT = "UPDATE connection_hook SET wanted = 0, failures = 0, fault = NULL, registered_at = NULL, next_at = $3 \
              WHERE org_no = $1 AND connection_id = $2 AND wanted = 1";
    RENEW = "UPDATE connection_hook SET failures = 0, fault = NULL, registered_at = NULL, next_at = $3 \
             WHERE org_no = $1 AND connection_id = $2 AND wanted = 1";
    PAUSE = "UPDATE connection_hook SET next_at = NULL WHERE org_no = $1 AND connection_id = $2";
    // Includes rows to be removed.
    LOOK_NOW = "UPDATE connection_hook SET next_at = 0, failures = 0 WHERE org_no = $1 AND connection_id = $2";
    // The row was removed if the connection was deleted.
    RESUME = "INSERT INTO connection_hook (org_no, connection_id, wanted, failures, version, next_at) \
              SELECT s.org_no, s.connection_id, 1, 0, 0, 0 FROM connection_schedule s \
              JOIN connection c ON c.org_no = s.org_no AND c.id = s.connection_id AND c.test = 0 \
              WHERE s.org_no = $1 AND s.connection_id = $2 AND s.cause = 'instafloss' \
              ON CONFLICT (org_no, connection_id) DO NOTHING";
    REMOVE_UNWANTED = "DELETE FROM connection_hook WHERE org_no = $1 AND connection_id = $2 AND wanted = 0";
    LOOK = "UPDATE connection_hook SET next_at = $3 WHERE org_no = $1 AND connection_id = $2";
    REMOVE = "DELETE FROM connection_hook WHERE org_no = $1 AND connection_id = $2";
    OF = concat!("SELECT ", columns!(), " FROM connection_hook h WHERE h.org_no = $1 AND h.connection_id = $2");
    ADDRESSED = concat!("SELECT ", columns!(), ", c.provider FROM connection_hook h \
                JOIN connection c ON c.org_no = h.org_no AND c.id = h.connection_id WHERE h.connection_id = $1");
    ANY_DUE = "SELECT 1 AS one FROM connection_hook h WHERE h.next_at <= $1 LIMIT 1";
    DUE = concat!("SELECT ", columns!(), ", h.version FROM connection_hook h WHERE h.next_at <= $1 \
          ORDER BY h.next_at LIMIT 1 {skip_locked}");
    TAKE = "UPDATE connection_hook SET version = version + 1, next_at = $3 WHERE org_no = $1 AND connection_id = $2";
    // A changed `next_at` means that another check was requested, possibly for another registration.
    WRITE = "UPDATE connection_hook SET keys = $4, fault = $5, \
             failures = CASE WHEN next_at = $8 THEN CAST($6 AS BIGINT) ELSE failures END, \
             registered_at = CASE WHEN next_at = $8 THEN CAST($7 AS BIGINT) ELSE NULL END, \
             next_at = CASE WHEN next_at = $8 THEN CAST($9 AS BIGINT) ELSE next_at END \
             WHERE org_no = $1 AND connection_id = $2 AND version = $3";
    // A poll that waits after a failure, or for credits, continues to wait.
    HASTEN = concat!("UPDATE connection_schedule SET due_at = ", hastened!(), ", next_at = ", hastened!(),
             " WHERE org_no = $1 AND connection_id = $2 AND cause = 'instafloss' AND waits_for IS NULL AND next_at > ", hastened!());
    NEXT_POLL = "SELECT next_at FROM connection_schedule WHERE org_no = $1 AND connection_id = $2 AND cause = 'instafloss'";
    HEARD = "UPDATE connection_hook SET last_event_at = $3 WHERE org_no = $1 AND connection_id = $2";
}

/// Requests that a locked connection's webhook be registered, or removed at the platform. No effect if it already is.
pub async fn want(tx: &mut Tx, (org, connection): (OrgNo, ConnId), is_wanted: bool, now: Millis) -> Result<()> {
    let statement = if is_wanted { &WANT } else { &UNWANT };
    tx.execute(statement, args![org, connection, now]).await.map(drop)
}

/// Requests a new registration for a locked connection's webhook after a change of lists, if it is wanted.
pub async fn renew(tx: &mut Tx, (org, connection): (OrgNo, ConnId), now: Millis) -> Result<()> {
    tx.execute(&RENEW, args![org, connection, now]).await.map(drop)
}

/// Stops the work on a connection that is disconnected.
pub(super) async fn pause(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<()> {
    tx.execute(&PAUSE, args![org, connection]).await.map(drop)
}

/// Makes the webhook of a reconnected connection due at once, because its account may have changed.
pub(super) async fn resume(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<()> {
    tx.execute(&LOOK_NOW, args![org, connection]).await?;
    tx.execute(&RESUME, args![org, connection]).await.map(drop)
}

/// Removes a webhook: its events are rejected.
pub async fn remove(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<()> {
    tx.execute(&REMOVE, args![org, connection]).await.map(drop)
}

/// Removes a webhook that was removed at the platform. If it is wanted again, makes it due instead.
pub async fn remove_unwanted(tx: &mut Tx, org: OrgNo, connection: ConnId, now: Millis) -> Result<()> {
    if tx.execute(&REMOVE_UNWANTED, args![org, connection]).await? == 0 {
        tx.execute(&LOOK, args![org, connection, now]).await?;
    }
    Ok(())
}

/// Returns a connection's webhook.
pub async fn of_connection(conn: &mut Conn, org: OrgNo, connection: ConnId) -> Result<Option<ConnectionHook>> {
    conn.find(&OF, args![org, connection]).await
}

/// Returns the webhook of any organization's connection, with the name of its platform.
pub async fn addressed(conn: &mut Conn, connection: ConnId) -> Result<Option<(ConnectionHook, String)>> {
    let Some(row) = conn.first(&ADDRESSED, args![connection]).await? else { return Ok(None) };
    Ok(Some((row.record::<ConnectionHook>()?, row.get("provider")?)))
}

/// Returns whether [`claim`] would find work, without writing.
pub async fn any_due(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_DUE, args![now]).await
}

/// Claims the webhook that has been due longest, until a time.
pub async fn claim(tx: &mut Tx, now: Millis, until: Millis) -> Result<Option<ClaimedHook>> {
    let Some(row) = tx.first(&DUE, args![now]).await? else { return Ok(None) };
    let hook = row.record::<ConnectionHook>()?;
    tx.execute(&TAKE, args![hook.org, hook.connection, until]).await?;
    Ok(Some(ClaimedHook { hook, version: row.get::<i64>("version")? + 1, until }))
}

/// Stores a step of the work. Fails with [`StoreError::LeaseLost`] if another worker has claimed it, or it was removed.
pub async fn write(tx: &mut Tx, claimed: &ClaimedHook, to: HookProgress<'_>) -> Result<()> {
    let ClaimedHook { hook: ConnectionHook { org, connection, .. }, version, until } = claimed;
    let HookProgress { keys, fault, failures, registered_at, next_at } = to;
    let values = args![org, connection, version, keys, fault, failures, registered_at, until, next_at];
    tx.change(&WRITE, values, StoreError::LeaseLost).await
}

/// Records an event, and makes the next poll due soon, unless it is due earlier. Returns the time of the next poll.
pub async fn hasten(
    tx: &mut Tx,
    (org, connection): (OrgNo, ConnId),
    haste: PollHaste,
    now: Millis,
) -> Result<Option<Millis>> {
    tx.execute(&HASTEN, args![org, connection, now + haste.after_ms, haste.apart_ms]).await?;
    tx.execute(&HEARD, args![org, connection, now]).await?;
    Ok(tx.find(&NEXT_POLL, args![org, connection]).await?.flatten())
}

records!(row => ConnectionHook {
    org = "org_no", connection = "connection_id", is_wanted = "wanted", keys, fault, failures, registered_at,
    last_event_at
});
