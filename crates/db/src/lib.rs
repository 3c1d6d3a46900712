//! Database access: [`Store`], its connections and its transactions.
//!
//! SQLite has one writer and a pool of read-only readers; PostgreSQL has one pool. A write transaction is a closure
//! ([`Store::write`]), because a transaction that loses a race runs again from its beginning. Nothing of the lost run remains, so
//! its results must come from the last run. Dropping the future rolls the transaction back.
//!
//! A commit whose connection broke is not repeated: its outcome is unknown. Callers make that harmless with unique references (the
//! ledger), leases that expire and stored responses (idempotency).

mod attached;
mod connection;
pub mod error;
#[cfg(feature = "failpoints")]
pub mod failpoint;
mod file;
pub mod hex;
mod open;
mod outdated;
mod patience;
mod sql;
mod together;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use scoped_futures::ScopedBoxFuture;
use sqlx::{AnyPool, Transaction};
use tokio::sync::Semaphore;

pub use attached::StoreAttachments;
pub use connection::{Conn, ResultRow, StatementArgs, Tx};
pub use open::migrate::{SchemaMigration, SchemaState};
pub use open::{DatabaseLimits, DatabasePlace, DatabaseSetup};
pub use sql::dialect::SqlDialect;
pub use sql::made::ColumnType;
pub use sql::statement::Statement;
pub use together::StatementBatch;

use crate::error::{Result, StoreError};

/// Maximum runs of a transaction that loses races.
const RUNS_MAX: u32 = 8;
/// Maximum wait for the rollback of a failed transaction; after that, the pool rolls it back.
const ROLLBACK_MAX: Duration = Duration::from_secs(1);
/// Pause before the second run, in milliseconds; it doubles.
const PAUSE_MS: u64 = 2;

/// A database. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dialect: SqlDialect,
    readers: AnyPool,
    writers: AnyPool,
    patience: patience::Patience,
    outdated: Arc<outdated::Outdated>,
    /// Whether the last write found the disk full, or the database accepts no writes.
    unwritable: AtomicBool,
    retries: AtomicU64,
    /// Permits for background transactions.
    bulk: Semaphore,
    /// Values of other modules, which every connection reaches.
    attached: Arc<StoreAttachments>,
    migrations: &'static [SchemaMigration],
    #[cfg(feature = "failpoints")]
    failpoints: Arc<failpoint::Failpoints>,
}

/// Current connections, for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Open connections, readers and writers.
    pub open: u32,
    /// Idle connections.
    pub idle: u32,
    /// Transactions that were retried after a lost race.
    pub retries: u64,
}

impl Store {
    pub fn dialect(&self) -> SqlDialect {
        self.inner.dialect
    }

    /// Value of this type that was attached when the store was opened, if any.
    pub fn attached<T: Any>(&self) -> Option<&T> {
        self.inner.attached.get()
    }

    /// Returns a read connection. Each statement stands alone, without a common snapshot. If the connection was lost while idle,
    /// the first statement opens another.
    pub async fn read(&self) -> Result<Conn> {
        Ok(Conn::pooled(self.inner.readers.acquire().await?, self))
    }

    /// Returns a read connection whose statements all see the data committed before the first of them.
    pub async fn snapshot(&self) -> Result<Conn> {
        let begun = self.begin(&self.inner.readers, self.inner.dialect.begin_snapshot()).await?;
        Ok(Conn::begun(begun, self))
    }

    /// Begins a transaction, on a new connection if the pooled one was lost while idle.
    async fn begin(&self, pool: &AnyPool, statement: &'static str) -> Result<Transaction<'static, sqlx::Any>> {
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

    /// Runs a write transaction. Retries if it lost a race or its connection and nothing was committed.
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
                if error.is_unwritable() && !self.inner.unwritable.swap(true, Ordering::Relaxed) {
                    let cause = std::error::Error::source(error).map(ToString::to_string);
                    tracing::error!(cause, "the database takes no writes; work continues when it does");
                }
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

    /// As [`Store::write`], for background work such as settling jobs. The limit on such transactions keeps the wait of a request
    /// to one of them on SQLite, and a connection free on PostgreSQL, however many chunks are in progress.
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
        // If SQLite is busy here, it has already waited for the other writer as long as a request may wait.
        let begun = self.begin(&self.inner.writers, self.inner.dialect.begin()).await.map_err(StoreError::not_again)?;
        let mut tx = Tx::new(begun, self);
        match work(&mut tx).await {
            Ok(value) => {
                let has_written = tx.has_written();
                tx.commit().await?;
                if has_written && self.inner.unwritable.swap(false, Ordering::Relaxed) {
                    tracing::warn!("the database takes writes again");
                }
                Ok(value)
            }
            Err(error) => {
                // Dropping it would roll back too, but later: meanwhile, others would wait for its locks or skip the locked rows.
                let _ = tokio::time::timeout(ROLLBACK_MAX, tx.rollback()).await;
                Err(error)
            }
        }
    }

    /// Whether the database accepts writes, as far as known. False after a write that found the disk full or broken, or the
    /// database read-only, until a later write changes something.
    pub fn is_writable(&self) -> bool {
        !self.inner.unwritable.load(Ordering::Relaxed)
    }

    /// Checks that the database responds.
    pub async fn ping(&self) -> Result<()> {
        match self.read().await?.ping().await {
            Err(error) if error.has_lost_connection() => {
                self.inner.outdated.note_all();
                self.read().await?.ping().await
            }
            answered => answered,
        }
    }

    pub fn pool_use(&self) -> PoolUse {
        let Inner { dialect, readers, writers, retries, .. } = &*self.inner;
        let both = *dialect == SqlDialect::Sqlite;
        let idle = readers.num_idle() + if both { writers.num_idle() } else { 0 };
        PoolUse {
            open: readers.size() + if both { writers.size() } else { 0 },
            idle: u32::try_from(idle).unwrap_or(u32::MAX),
            retries: retries.load(Ordering::Relaxed),
        }
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
            other => Self::Corrupt(other.into()),
        }
    }
}
