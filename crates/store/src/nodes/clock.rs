//! Time that nodes agree on.
//!
//! Nodes bring their own time, and their clocks differ. Leases and rate limits, which nodes share, use the database server's clock.
//! SQLite is in this process and uses the caller's time.
//!
//! The latest time is recorded with heartbeats, so that a start finds out that the clock was set back since.

use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::nodes::instance;
use crate::records::TypedStatements as _;

/// Name under which the latest time is recorded, in milliseconds since 1970.
const LATEST: &str = "clock";

statements! {
    NOW = "SELECT {now_us} AS now_us";
    // Never decreases: another process must still detect that the clock was set back.
    RECORD = "INSERT INTO instance (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value \
              WHERE CAST(instance.value AS BIGINT) < CAST(excluded.value AS BIGINT)";
}

/// The database's time in microseconds since 1970; `None` if it has no clock of its own.
pub async fn now_us(conn: &mut Conn) -> Result<Option<i64>> {
    if conn.takes_callers_time() {
        return Ok(None);
    }
    conn.one(&NOW, args![]).await.map(Some)
}

/// The database's time, or `own` if it has no clock.
pub async fn now(conn: &mut Conn, own: Millis) -> Result<Millis> {
    Ok(now_us(conn).await?.map_or(own, |us| Millis(us.div_euclid(1_000))))
}

/// Records the time, unless a later one is recorded.
pub(super) async fn record(tx: &mut Tx, now: Millis) -> Result<()> {
    tx.execute(&RECORD, args![LATEST, now.0.to_string()]).await.map(drop)
}

/// Locks the record until the transaction ends.
pub(super) async fn lock(tx: &mut Tx) -> Result<()> {
    instance::lock(tx, LATEST).await
}

/// Returns how far `now` is behind the latest recorded time, in milliseconds; 0 or less if the clock was not set back.
pub(super) async fn set_back(tx: &mut Tx, now: Millis) -> Result<i64> {
    let latest = instance::value(tx, LATEST).await?;
    let read = |text: String| text.parse().map_err(|_| StoreError::corrupt("the recorded time is no number"));
    Ok(latest.map(read).transpose()?.map_or(0, |latest: i64| Millis(latest).since(now)))
}

/// Records the time of a clock that was set back.
pub(super) async fn restart(tx: &mut Tx, now: Millis) -> Result<()> {
    instance::set(tx, LATEST, &now.0.to_string()).await
}
