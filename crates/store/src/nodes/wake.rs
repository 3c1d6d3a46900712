//! Cross-node wake-ups: a transaction that leaves work sends one at its commit, over PostgreSQL's NOTIFY.
//!
//! Wake-ups are hints. Tasks also poll, so a lost wake-up (a broken connection, no listener) costs only time. SQLite has no
//! listeners: one process does all work, and has its own wake-ups.
//!
//! A commit that notifies takes a lock of the whole PostgreSQL server at its end. So wake-ups are sent for events that occur once
//! per job (accepted, sorted, reported), never for each of its parts.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::time::timeout;

use crate::db::error::{Result, StoreError};
use crate::db::{SqlDialect, Store, Tx, args, statements};

/// Channel name, as in `{notify:..}`.
const CHANNEL: &str = "probity";
/// Name of the connection in `pg_stat_activity`.
const APPLICATION: &str = "probity listener";
/// Maximum time to connect, and for the server's response on an open connection.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Silence after which the server is pinged: a passive listener would never detect a lost connection.
const SILENCE: Duration = Duration::from_secs(30);

statements! {
    RING = "SELECT {notify:$1} AS rung";
    STILL_THERE = "SELECT 1 AS one";
}

probity_mail::named! {
    /// Kind of work that may exist.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WakeUp {
        /// An accepted job waits for its import.
        Import = "import",
        /// Chunks are ready.
        Work = "work",
        /// A delivery is due.
        Outbox = "outbox",
        /// A run of a connection is due.
        Runs = "runs",
    }
}

/// Sends a wake-up when the transaction commits; a rollback sends none.
pub(crate) async fn ring(tx: &mut Tx, bell: WakeUp) -> Result<()> {
    if tx.dialect() == SqlDialect::Postgres {
        tx.execute(&RING, args![bell.as_str()]).await?;
    }
    Ok(())
}

/// Address that a listener connects to. It may contain a password.
pub(crate) struct ListenerAddress(PgConnectOptions);

impl std::fmt::Debug for ListenerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address(..)")
    }
}

impl ListenerAddress {
    /// Parses a URL that is known to be valid.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let options: PgConnectOptions = url.parse().ok()?;
        Some(Self(options.application_name(APPLICATION).disable_statement_logging()))
    }
}

#[derive(Debug)]
pub struct WakeUpListener(PgListener);

/// Starts listening. `None` on SQLite, where there are no other senders.
pub async fn listen(store: &Store) -> Result<Option<WakeUpListener>> {
    let Some(ListenerAddress(options)) = store.attached() else { return Ok(None) };
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(ANSWER_MAX).max_lifetime(None);
    let pool = pool.idle_timeout(None).connect_with(options.clone()).await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    // The listener must detect each gap: it reports the gap and reconnects.
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(Some(WakeUpListener(listener)))
}

impl WakeUpListener {
    /// Waits for the next wake-up. An error ends the connection; wake-ups sent meanwhile are lost.
    pub async fn next(&mut self) -> Result<WakeUp> {
        loop {
            let Ok(told) = timeout(SILENCE, self.0.try_recv()).await else {
                self.ask().await?;
                continue;
            };
            let told = told?.ok_or_else(|| away("the listener was cut off"))?;
            // Nodes of a newer version may send unknown wake-ups.
            if let Some(bell) = WakeUp::from_name(told.payload()) {
                return Ok(bell);
            }
        }
    }

    /// Checks that the server responds. Wake-ups received meanwhile are kept.
    async fn ask(&mut self) -> Result<()> {
        let answer = timeout(ANSWER_MAX, self.0.execute(STILL_THERE.text(SqlDialect::Postgres))).await;
        answer.map_err(|_| away("the server of the listener does not answer"))??;
        Ok(())
    }
}

fn away(why: &'static str) -> StoreError {
    StoreError::Unavailable { source: why.into(), contended: false }
}
