//! Bells between nodes: a transaction that leaves work says so when it is committed, over PostgreSQL's NOTIFY.
//!
//! Bells are hints. Whoever waits for work also looks by itself once in a while, so that a bell that was lost (a connection
//! broke, nobody listened) costs time and nothing else. On SQLite nobody listens: all work is done by one process, which has
//! bells of its own.
//!
//! A commit that notifies takes a lock of the whole PostgreSQL server for its end. So bells are rung for what happens once in
//! the life of a job (accepted, sorted, told), never for each of its parts.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::time::timeout;

use crate::db::{Dialect, Store, Tx, args, statements};
use crate::error::{Result, StoreError};

/// The channel, as `{notify:..}` names it.
const CHANNEL: &str = "probity";
/// How the connection is called in `pg_stat_activity`.
const APPLICATION: &str = "probity listener";
/// How long it may take to connect, and until the server answers on a connection that stands.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// After how much silence the server is asked whether it is still there: whoever only listens never finds out otherwise.
const SILENCE: Duration = Duration::from_secs(30);

statements! {
    RING = "SELECT {notify:$1} AS rung";
    STILL_THERE = "SELECT 1 AS one";
}

/// What may be there to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// A job was accepted, and its list waits to be sorted.
    Import,
    /// Chunks are ready.
    Work,
    /// A message to a customer's server is due.
    Outbox,
}

impl Bell {
    /// Every bell.
    pub const ALL: [Self; 3] = [Self::Import, Self::Work, Self::Outbox];

    fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Work => "work",
            Self::Outbox => "outbox",
        }
    }
}

/// Rings when the transaction is committed, and not where it is rolled back.
pub(crate) async fn ring(tx: &mut Tx, bell: Bell) -> Result<()> {
    if tx.dialect() == Dialect::Postgres {
        tx.execute(&RING, args![bell.as_str()]).await?;
    }
    Ok(())
}

/// Where a listener connects. It may hold a password.
pub(crate) struct Address(PgConnectOptions);

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address(..)")
    }
}

impl Address {
    /// Of a URL that is known to be one.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let options: PgConnectOptions = url.parse().ok()?;
        Some(Self(options.application_name(APPLICATION).disable_statement_logging()))
    }
}

/// A connection on which bells are heard.
#[derive(Debug)]
pub struct Listener(PgListener);

impl Store {
    /// Begins to listen. None on SQLite, where nobody else could ring.
    pub async fn listen(&self) -> Result<Option<Listener>> {
        let Some(Address(options)) = self.listen_at() else { return Ok(None) };
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(ANSWER_MAX).max_lifetime(None);
        let pool = pool.idle_timeout(None).connect_with(options.clone()).await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        // Whoever listens must know of each gap: it says so and begins anew.
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        Ok(Some(Listener(listener)))
    }
}

impl Listener {
    /// The next bell that is rung. An error is the end of the connection: what was rung meanwhile is lost.
    pub async fn next(&mut self) -> Result<Bell> {
        loop {
            let Ok(told) = timeout(SILENCE, self.0.try_recv()).await else {
                self.ask().await?;
                continue;
            };
            let told = told?.ok_or_else(|| away("the listener was cut off"))?;
            // Nodes of a newer version may ring bells that are not known here.
            if let Some(bell) = Bell::ALL.into_iter().find(|bell| bell.as_str() == told.payload()) {
                return Ok(bell);
            }
        }
    }

    /// Whether the server is still there. Bells that are rung meanwhile are kept.
    async fn ask(&mut self) -> Result<()> {
        let answer = timeout(ANSWER_MAX, self.0.execute(STILL_THERE.text(Dialect::Postgres))).await;
        answer.map_err(|_| away("the server of the listener does not answer"))??;
        Ok(())
    }
}

fn away(why: &'static str) -> StoreError {
    StoreError::Unavailable { source: why.into(), contended: false }
}
