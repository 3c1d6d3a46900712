//! Time that nodes agree on.
//!
//! Nodes bring their own time, and their clocks differ. Leases and rate limits, which nodes share, use the database server's clock.
//! SQLite is in this process and uses the caller's time.

use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, args, statements};

statements! {
    NOW = "SELECT {now_us} AS now_us";
}

/// The database's time in microseconds since 1970; `None` if it has no clock of its own.
pub async fn now_us(conn: &mut Conn) -> Result<Option<i64>> {
    if conn.takes_callers_time() {
        return Ok(None);
    }
    let row = conn.first(&NOW, args![]).await?;
    row.ok_or_else(|| StoreError::corrupt("the server does not say what time it is"))?.get("now_us").map(Some)
}

/// The database's time, or `own` if it has no clock.
pub async fn now(conn: &mut Conn, own: Millis) -> Result<Millis> {
    Ok(now_us(conn).await?.map_or(own, |us| Millis(us.div_euclid(1_000))))
}
