//! Moving an installation from SQLite to PostgreSQL, with everything that it knows.
//!
//! The tables are those that the source has (`moving/schema.rs`), so that none can be forgotten. They are copied in one
//! transaction of the target, a slice of rows at a time (`moving/copy.rs`): a move that breaks leaves nothing there. The source is
//! open for this process alone ([`Store::open_alone`]) and is only read, but for its mark.
//!
//! Two databases cannot be committed at one instant. So that never both of them are served, the source is marked as moved
//! first; the target gets the same mark with its rows. Where a move breaks between the two, the source refuses to be served
//! although nothing has arrived; moving once more tells, by the marks, whether it had ([`Outcome::Before`]).

mod copy;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use probity_mail::time::Millis;
use scoped_futures::ScopedFutureExt as _;

use crate::audit::{self, Discrepancy};
use crate::db::{Conn, Dialect, Store, Tx, args};
use crate::error::{Result, StoreError};
use crate::{instance, nodes};

use copy::copy;
use schema::{Table, names, tables};

/// In the source: when it was moved.
const MOVED_TO: &str = "moved_to_at";
/// In the target: the same time.
const MOVED_FROM: &str = "moved_from_at";

/// For so long a node that serves the target may have been silent: more than between two signs of life, whatever the clocks.
const SILENT_MS: i64 = 60_000;

/// What a move came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was copied.
    Done(Vec<Copied>),
    /// It had been moved there before.
    Before(Millis),
}

/// What was copied of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its name.
    pub table: String,
    /// How many rows it has.
    pub rows: u64,
}

/// Why nothing was moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The target serves others.
    #[error("the database there holds organizations already; it must be empty")]
    Occupied,
    /// The target's tables are locked, or a node was alive there a moment ago.
    #[error(
        "the database there is in use; nobody may be connected to it, and no node may have served it within a minute"
    )]
    InUse,
    /// A table has not arrived as it was.
    #[error("table {table}: {here} rows here, but {there} would be there")]
    Rows {
        /// Its name.
        table: String,
        /// Rows of the source.
        here: u64,
        /// Rows of the target.
        there: u64,
    },
    /// What arrived does not keep the promises of the store.
    #[error("the books do not agree in {} places, of which `probity audit` tells", .0.len())]
    Books(Vec<Discrepancy>),
    /// A table could not be copied.
    #[error("table {table} cannot be copied")]
    Table {
        /// Its name.
        table: String,
        /// What the databases said.
        #[source]
        source: StoreError,
    },
    /// A database failed.
    #[error(transparent)]
    Store(StoreError),
}

impl MoveError {
    /// Takes it out of a transaction, which it rolls back and does not run again.
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

/// Moves what `source` holds, which is [alone](Store::open_alone), to `target`. Both have the tables of this program. `told` hears
/// how many rows of a table have been copied so far.
pub async fn move_to(
    source: &Store,
    target: &Store,
    now: Millis,
    told: &(dyn Fn(&str, u64) + Sync),
) -> std::result::Result<Outcome, MoveError> {
    if (source.dialect(), target.dialect()) != (Dialect::Sqlite, Dialect::Postgres) {
        return Err(MoveError::Store(StoreError::corrupt("a move goes from SQLite to PostgreSQL")));
    }
    let mut reader = source.read().await?;
    let tables = tables(&mut reader).await?;
    let marked = moved_at(&mut reader).await?;
    drop(reader);
    let moved = target.write(|tx| {
        async {
            take_alone(tx, &tables).await?;
            if let Some(at) = arrived(tx, marked).await? {
                return Ok(Outcome::Before(at));
            }
            nobody_serves(tx, now).await?;
            let mut reader = source.read().await?;
            let copied = copy_all(&mut reader, tx, &tables, told).await?;
            check(&mut reader, tx, &tables, now).await?;
            drop(reader);
            mark(source, tx, now).await?;
            Ok(Outcome::Done(copied))
        }
        .scope_boxed()
    });
    Ok(moved.await?)
}

/// When an installation was moved away from this database, if it was.
pub async fn moved_at(conn: &mut Conn) -> Result<Option<Millis>> {
    let Some(text) = instance::value(conn, MOVED_TO).await? else { return Ok(None) };
    let at = text.parse().map_err(|_| StoreError::corrupt("the mark of a move cannot be read"))?;
    Ok(Some(Millis(at)))
}

/// Lets a database that was moved be used again; says whether it was marked.
pub async fn take_back(store: &Store) -> Result<bool> {
    store.write(|tx| instance::remove(tx, MOVED_TO).scope_boxed()).await
}

/// Locks the target's tables, so that nobody begins to work in them meanwhile, and lets statements take their time.
async fn take_alone(tx: &mut Tx, tables: &[Table]) -> Result<()> {
    for limit in ["statement_timeout", "idle_in_transaction_session_timeout"] {
        made(tx, format!("SET LOCAL {limit} = 0")).await?;
    }
    let locked = made(tx, format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT", names(tables))).await;
    locked.map_err(|error| if error.is_contention() { MoveError::InUse.refused() } else { error })
}

/// When this source has arrived there before; refuses a target that has organizations of others.
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

/// Refuses a target that a node serves: what it has read there, such as the secret of its texts, would not be that of the rows
/// that come.
async fn nobody_serves(tx: &mut Tx, now: Millis) -> Result<()> {
    let alive = nodes::all(tx).await?.iter().any(|node| now.since(node.seen_at) < SILENT_MS);
    if alive { Err(MoveError::InUse.refused()) } else { Ok(()) }
}

async fn copy_all(
    reader: &mut Conn,
    tx: &mut Tx,
    tables: &[Table],
    told: &(dyn Fn(&str, u64) + Sync),
) -> Result<Vec<Copied>> {
    // What `migrate` has left there.
    made(tx, format!("TRUNCATE {}", names(tables))).await?;
    let mut copied = Vec::with_capacity(tables.len());
    for table in tables {
        let rows = copy(reader, tx, table, told).await;
        let rows = rows.map_err(|source| MoveError::Table { table: table.name.clone(), source }.refused())?;
        copied.push(Copied { table: table.name.clone(), rows });
    }
    Ok(copied)
}

/// Counts on both sides, and asks what arrived for the promises of the store that statements can check. Which messages are kept
/// is none of them: that depends on settings.
async fn check(reader: &mut Conn, tx: &mut Tx, tables: &[Table], now: Millis) -> Result<()> {
    for table in tables {
        let (here, there) = (table.count(reader).await?, table.count(tx).await?);
        if here != there {
            return Err(MoveError::Rows { table: table.name.clone(), here, there }.refused());
        }
        // The planner knows nothing of rows that have just come.
        made(tx, format!("ANALYZE {}", table.quoted())).await?;
    }
    let found = audit::sums_of(tx, now).await?;
    if found.is_empty() { Ok(()) } else { Err(MoveError::Books(found).refused()) }
}

/// Marks both sides. The source's mark stands from here on; the target's comes with its rows.
async fn mark(source: &Store, tx: &mut Tx, now: Millis) -> Result<()> {
    let at = now.0.to_string();
    // Of a move that broke off.
    instance::remove(tx, MOVED_TO).await?;
    instance::set(tx, MOVED_FROM, &at).await?;
    source.write(|tx| instance::set(tx, MOVED_TO, &at).scope_boxed()).await
}

async fn made(conn: &mut Conn, text: String) -> Result<()> {
    conn.execute_made(Arc::from(text), args![], false).await.map(drop)
}
