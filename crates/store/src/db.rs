//! The databases behind one face: [`Store`], its connections and its transactions.
//!
//! SQLite has one writer and a pool of readers that cannot write; PostgreSQL has one pool. A transaction that writes is a
//! closure ([`Store::write`]), because one that lost a race is run again from its beginning: nothing that it did stands, so
//! whatever it hands out must come from its last run. Dropping the future rolls the transaction back.
//!
//! A commit whose connection broke is not repeated: whether it went through is unknown. Callers make that harmless with
//! references that are unique (the ledger), leases that end and stored answers (idempotency).

mod connection;
mod dialect;
#[cfg(debug_assertions)]
pub mod failpoint;
mod made;
mod migrate;
mod open;
mod outdated;
mod patience;
mod reach;
mod shrink;
mod snapshot;
mod statement;
mod together;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use scoped_futures::ScopedBoxFuture;
use sqlx::{Any, AnyPool, Transaction};
use tokio::sync::Semaphore;

pub(crate) use connection::{Args, Argument, Row, args};
pub use connection::{Conn, Tx};
pub use dialect::Dialect;
pub(crate) use made::Kind;
pub use migrate::SchemaState;
pub use open::{Place, StoreConfig};
pub(crate) use statement::{Statement, statements};
pub(crate) use together::Together;

use crate::error::{Result, StoreError};
use crate::jobs::Sheets;
use crate::sealing::Keys;
use crate::wake::Address;

/// How often a transaction that lost a race is run.
const RUNS_MAX: u32 = 8;
/// How long a caller waits for the end of a transaction that failed; then the pool ends it.
const ROLLBACK_MAX: Duration = Duration::from_secs(1);
/// The pause before the second run, in milliseconds; it doubles.
const PAUSE_MS: u64 = 2;

/// A database. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dialect: Dialect,
    readers: AnyPool,
    writers: AnyPool,
    patience: patience::Patience,
    outdated: Arc<outdated::Outdated>,
    /// Whether the last write found no room, or the database takes none.
    unwritable: AtomicBool,
    retries: AtomicU64,
    /// Turns of transactions that nobody waits for.
    bulk: Semaphore,
    sheets: Arc<Sheets>,
    /// With what bodies are sealed, where there is a master key.
    keys: Option<Arc<Keys>>,
    /// Where bells of other nodes are heard; none on SQLite.
    listen_at: Option<Address>,
    #[cfg(debug_assertions)]
    failpoints: Arc<failpoint::Failpoints>,
}

/// Connections now, for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Open connections, readers and writers.
    pub open: u32,
    /// Those that nobody uses.
    pub idle: u32,
    /// Transactions that were run again after they had lost a race.
    pub retries: u64,
}

impl Store {
    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    pub(crate) fn listen_at(&self) -> Option<&Address> {
        self.inner.listen_at.as_ref()
    }

    pub(crate) fn sheets(&self) -> &Sheets {
        &self.inner.sheets
    }

    /// A connection for reading. Statements on it stand alone; there is no common snapshot. Where it turns out to have been lost while
    /// nobody used it, the first statement takes a new one.
    pub async fn read(&self) -> Result<Conn> {
        Ok(Conn::pooled(self.inner.readers.acquire().await?, self))
    }

    /// A connection for reading whose statements all see what was committed before the first of them.
    pub(crate) async fn snapshot(&self) -> Result<Conn> {
        let begun = self.begin(&self.inner.readers, self.inner.dialect.begin_snapshot()).await?;
        Ok(Conn::begun(begun, self))
    }

    /// Begins a transaction, on a new connection where the one that was taken had been lost while nobody used it.
    async fn begin(&self, pool: &AnyPool, statement: &'static str) -> Result<Transaction<'static, Any>> {
        let Inner { patience, outdated, retries, .. } = &*self.inner;
        match patience.wait(pool.begin_with(statement)).await {
            Err(error) if error.has_lost_connection() => {
                outdated.note_all();
                retries.fetch_add(1, Ordering::Relaxed);
                patience.wait(pool.begin_with(statement)).await
            }
            begun => begun,
        }
    }

    /// Runs a transaction that writes, again where it lost a race or its connection and nothing of it stands.
    pub async fn write<'env, T, W>(&self, work: W) -> Result<T>
    where
        W: for<'t> Fn(&'t mut Tx) -> ScopedBoxFuture<'env, 't, Result<T>> + Send + Sync + 'env,
        T: Send + 'env,
    {
        let mut pause_ms = PAUSE_MS;
        let mut run = 1;
        loop {
            let done = self.run(&work).await;
            if let Err(error) = &done {
                self.inner.outdated.note(error);
                self.inner.unwritable.fetch_or(error.is_unwritable(), Ordering::Relaxed);
            }
            match done {
                Err(error) if error.is_contention() && run < RUNS_MAX => {
                    self.inner.retries.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                    pause_ms *= 2;
                    run += 1;
                }
                done => return done,
            }
        }
    }

    /// As [`Store::write`], for what nobody waits for, such as the parts of jobs. So few of these run or wait at a time that a request
    /// stands behind one on SQLite, and finds a connection on PostgreSQL, however many chunks are worked on.
    pub async fn write_bulk<'env, T, W>(&self, work: W) -> Result<T>
    where
        W: for<'t> Fn(&'t mut Tx) -> ScopedBoxFuture<'env, 't, Result<T>> + Send + Sync + 'env,
        T: Send + 'env,
    {
        let _turn = self.inner.bulk.acquire().await.expect("the semaphore is never closed");
        self.write(work).await
    }

    async fn run<'env, T, W>(&self, work: &W) -> Result<T>
    where
        W: for<'t> Fn(&'t mut Tx) -> ScopedBoxFuture<'env, 't, Result<T>> + Send + Sync + 'env,
        T: Send + 'env,
    {
        // Where SQLite is busy here, it has waited for the other writer's end as long as a request may wait.
        let begun = self.begin(&self.inner.writers, self.inner.dialect.begin()).await.map_err(StoreError::not_again)?;
        let mut tx = Tx::new(begun, self);
        match work(&mut tx).await {
            Ok(value) => {
                let has_written = tx.has_written();
                tx.commit().await?;
                if has_written {
                    self.inner.unwritable.store(false, Ordering::Relaxed);
                }
                Ok(value)
            }
            Err(error) => {
                // Dropping it would do, but some time later: others would wait for its locks, or skip what it has locked.
                let _ = tokio::time::timeout(ROLLBACK_MAX, tx.rollback()).await;
                Err(error)
            }
        }
    }

    /// Whether the database takes writes, as far as is known: false from a write that found its disk full or broken, or itself
    /// read-only, until one that changed something went through.
    pub fn is_writable(&self) -> bool {
        !self.inner.unwritable.load(Ordering::Relaxed)
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        match self.read().await?.ping().await {
            Err(error) if error.has_lost_connection() => {
                self.inner.outdated.note_all();
                self.read().await?.ping().await
            }
            answered => answered,
        }
    }

    /// Connections now.
    pub fn pool_use(&self) -> PoolUse {
        let Inner { dialect, readers, writers, retries, .. } = &*self.inner;
        let both = *dialect == Dialect::Sqlite;
        let idle = readers.num_idle() + if both { writers.num_idle() } else { 0 };
        PoolUse {
            open: readers.size() + if both { writers.size() } else { 0 },
            idle: u32::try_from(idle).unwrap_or(u32::MAX),
            retries: retries.load(Ordering::Relaxed),
        }
    }

    /// The fingerprint of the master key with which this store seals, if it has one.
    pub fn sealed_by(&self) -> Option<&str> {
        self.inner.keys.as_deref().map(Keys::fingerprint)
    }

    /// Closes every connection; SQLite writes its log back into the file.
    pub async fn close(&self) {
        self.inner.readers.close().await;
        self.inner.writers.close().await;
    }
}

impl From<sqlx::migrate::MigrateError> for StoreError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        use sqlx::migrate::MigrateError;
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            MigrateError::VersionMissing(version) => {
                Self::corrupt(format!("a newer version of this program has changed the database (migration {version})"))
            }
            other => Self::Corrupt(other.into()),
        }
    }
}
