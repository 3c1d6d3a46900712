//! What time it is where nodes agree.
//!
//! Nodes bring their own time, and their clocks differ. What several of them count or hold together, leases and rate limits, goes
//! by the database's clock where it is a server. SQLite is in this process and has the caller's.

use probity_mail::time::Millis;

use crate::db::{Conn, Dialect, args, statements};
use crate::error::{Result, StoreError};

statements! {
    NOW = "SELECT {now_us} AS now_us";
}

/// The database's time in microseconds since 1970; none where it has no clock of its own.
pub async fn now_us(conn: &mut Conn) -> Result<Option<i64>> {
    if conn.dialect() == Dialect::Sqlite || conn.goes_by_callers() {
        return Ok(None);
    }
    let row = conn.first(&NOW, args![]).await?;
    row.ok_or_else(|| StoreError::corrupt("the server does not say what time it is"))?.get("now_us").map(Some)
}

/// The database's time, or `own` where it has no clock.
pub async fn now(conn: &mut Conn, own: Millis) -> Result<Millis> {
    Ok(now_us(conn).await?.map_or(own, |us| Millis(us.div_euclid(1_000))))
}
