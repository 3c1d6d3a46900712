//! Moves an installation with all its data from SQLite to PostgreSQL.
//!
//! The tables are read from the source (`moving/schema.rs`), so none can be forgotten. They are copied in one transaction of the
//! target, a slice of rows at a time (`moving/copy.rs`): a move that fails leaves nothing there. The source is open exclusively
//! ([`Store::open_alone`]), and only read except for its mark.
//!
//! Two databases cannot commit at one instant. To prevent both from being served, the source is marked as moved first; the target
//! gets the same mark with its rows. If a move fails in between, the source refuses to be served although nothing has arrived.
//! Repeating the move tells from the marks whether it had succeeded ([`MoveOutcome::Before`]).

mod copy;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use probity_mail::time::Millis;
use scoped_futures::ScopedFutureExt as _;

use crate::credits::audit::{self, AuditDiscrepancy};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, SqlDialect, Store, Tx, args};
use crate::nodes;
use crate::nodes::instance;
use crate::work;

use copy::copy;
use schema::{Table, names, tables};

/// Mark in the source: time of the move.
const MOVED_TO: &str = "moved_to_at";
/// Mark in the target: the same time.
const MOVED_FROM: &str = "moved_from_at";

/// Time since the heartbeat after which a node of the target counts as gone: more than the interval between two heartbeats, for
/// any difference between clocks.
const SILENT_MS: i64 = 60_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    Done(Vec<CopiedTable>),
    /// It was moved there before, at this time.
    Before(Millis),
}

/// Copy of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    pub table: String,
    /// Rows copied.
    pub rows: u64,
}

/// Reason why nothing was moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The target contains other organizations.
    #[error("the target database already has organizations; use an empty one")]
    Occupied,
    /// The target's tables are locked, or one of its nodes had a recent heartbeat.
    #[error(
        "the target database is in use; close all its connections, and wait 1 minute after its last node has stopped"
    )]
    InUse,
    /// A table arrived incomplete.
    #[error("table {table}: {here} rows in the source, but {there} in the target")]
    Rows {
        table: String,
        /// Rows in the source.
        here: u64,
        /// Rows in the target.
        there: u64,
    },
    /// The copied data violates the store's invariants.
    #[error("the audit found {} discrepancies; run `probity audit` to list them", .0.len())]
    Books(Vec<AuditDiscrepancy>),
    /// A table could not be copied.
    #[error("cannot copy the table {table}")]
    Table {
        table: String,
        /// Error of one of the databases.
        #[source]
        source: StoreError,
    },
    #[error(transparent)]
    Store(StoreError),
}

impl MoveError {
    /// Carries the error out of a transaction, which rolls back and does not run again.
    fn refused(self) -> StoreError {
        StoreError::Corrupt(Box::new(self))
    }
}

impl From<StoreError> for MoveError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt(source) => match source.downcast::<Self>() {
                Ok(refused) => *refused,
                Err(source) => Self::Store(StoreError::Corrupt(source)),
            },
            other => Self::Store(other),
        }
    }
}

/// Moves the data of `source`, opened [exclusively](Store::open_alone), to `target`. Both have the tables of this program. Calls
/// `told` with the number of rows copied so far from a table.
pub async fn move_to(
    source: &Store,
    target: &Store,
    now: Millis,
    told: &(dyn Fn(&str, u64) + Sync),
) -> std::result::Result<MoveOutcome, MoveError> {
    if (source.dialect(), target.dialect()) != (SqlDialect::Sqlite, SqlDialect::Postgres) {
        return Err(MoveError::Store(StoreError::corrupt("a move goes from SQLite to PostgreSQL")));
    }
    let mut reader = source.read().await?;
    let tables = tables(&mut reader).await?;
    let marked = moved_at(&mut reader).await?;
    drop(reader);
    let moved = target.write(work!(|tx| {
        take_alone(tx, &tables).await?;
        if let Some(at) = arrived(tx, marked).await? {
            return Ok(MoveOutcome::Before(at));
        }
        nobody_serves(tx, now).await?;
        let mut reader = source.read().await?;
        let copied = copy_all(&mut reader, tx, &tables, told).await?;
        check(&mut reader, tx, &tables, now).await?;
        drop(reader);
        mark(source, tx, now).await?;
        Ok(MoveOutcome::Done(copied))
    }));
    Ok(moved.await?)
}

/// Time when an installation was moved away from this database, if it was.
pub async fn moved_at(conn: &mut Conn) -> Result<Option<Millis>> {
    let Some(text) = instance::value(conn, MOVED_TO).await? else { return Ok(None) };
    let at = text.parse().map_err(|_| StoreError::corrupt("the mark of a move cannot be read"))?;
    Ok(Some(Millis(at)))
}

/// Makes a moved database usable again; returns whether it was marked.
pub async fn take_back(store: &Store) -> Result<bool> {
    store.write(|tx| instance::remove(tx, MOVED_TO).scope_boxed()).await
}

/// Locks the target's tables against new work, and removes the statement timeout.
async fn take_alone(tx: &mut Tx, tables: &[Table]) -> Result<()> {
    for limit in ["statement_timeout", "idle_in_transaction_session_timeout"] {
        made(tx, format!("SET LOCAL {limit} = 0")).await?;
    }
    let locked = made(tx, format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT", names(tables))).await;
    locked.map_err(|error| if error.is_contention() { MoveError::InUse.refused() } else { error })
}

/// Time when this source arrived in the target before; rejects a target with other organizations.
async fn arrived(tx: &mut Tx, marked: Option<Millis>) -> Result<Option<Millis>> {
    if tx.rows_made("SELECT org_no FROM org LIMIT 1".into(), args![]).await?.is_empty() {
        return Ok(None);
    }
    let from = instance::value(tx, MOVED_FROM).await?;
    match marked {
        Some(at) if from == Some(at.0.to_string()) => Ok(Some(at)),
        _ => Err(MoveError::Occupied.refused()),
    }
}

/// Rejects a target that a node serves: data it has read, such as the secret of its texts, would differ from the copied rows.
async fn nobody_serves(tx: &mut Tx, now: Millis) -> Result<()> {
    let alive = nodes::all(tx).await?.iter().any(|node| now.since(node.seen_at) < SILENT_MS);
    if alive { Err(MoveError::InUse.refused()) } else { Ok(()) }
}

async fn copy_all(
    reader: &mut Conn,
    tx: &mut Tx,
    tables: &[Table],
    told: &(dyn Fn(&str, u64) + Sync),
) -> Result<Vec<CopiedTable>> {
    // Rows that `migrate` inserted.
    made(tx, format!("TRUNCATE {}", names(tables))).await?;
    let mut copied = Vec::with_capacity(tables.len());
    for table in tables {
        let rows = copy(reader, tx, table, told).await;
        let rows = rows.map_err(|source| MoveError::Table { table: table.name.clone(), source }.refused())?;
        copied.push(CopiedTable { table: table.name.clone(), rows });
    }
    Ok(copied)
}

/// Counts rows on both sides, and checks the store's invariants in the target with statements. Omits the invariant about
/// deliveries, because their retention depends on settings.
async fn check(reader: &mut Conn, tx: &mut Tx, tables: &[Table], now: Millis) -> Result<()> {
    for table in tables {
        let (here, there) = (table.count(reader).await?, table.count(tx).await?);
        if here != there {
            return Err(MoveError::Rows { table: table.name.clone(), here, there }.refused());
        }
        // The planner has no statistics for the new rows.
        made(tx, format!("ANALYZE {}", table.quoted())).await?;
    }
    let found = audit::sums_of(tx, now).await?;
    if found.is_empty() { Ok(()) } else { Err(MoveError::Books(found).refused()) }
}

/// Marks both sides. The source's mark takes effect here; the target's comes with its rows.
async fn mark(source: &Store, tx: &mut Tx, now: Millis) -> Result<()> {
    let at = now.0.to_string();
    // From a move that failed.
    instance::remove(tx, MOVED_TO).await?;
    instance::set(tx, MOVED_FROM, &at).await?;
    source.write(|tx| instance::set(tx, MOVED_TO, &at).scope_boxed()).await
}

async fn made(conn: &mut Conn, text: String) -> Result<()> {
    conn.execute_made(Arc::from(text), args![], false).await.map(drop)
}
