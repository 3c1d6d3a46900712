//! A connection, a transaction, their arguments and rows.
//!
//! [`Conn`] reads and [`Tx`] also writes: a function that changes something takes a `Tx`, so that it cannot be called outside of a
//! transaction. Only [`Store`] makes either, and only it commits. A `Tx` that is dropped is undone by the pool, later: whoever
//! gives one up rolls it back (`Store::write` does), because its locks would stand meanwhile.
//!
//! Each answer is waited for as long as [`Patience`] says. One that is late is [`StoreError::Unavailable`], and whether the statement
//! was carried out is not known. In debug builds each statement and each commit passes its failpoints here.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, AnyPool, Connection, Row as _, SqlSafeStr, Transaction};

use super::Store;
use super::dialect::Dialect;
#[cfg(debug_assertions)]
use super::failpoint::{Failpoints, When};
use super::outdated::Outdated;
use super::patience::Patience;
use super::statement::Statement;
use crate::error::{Result, StoreError};
use crate::jobs::Sheets;
use crate::sealing::Ring;

/// A connection to the database.
#[derive(Debug)]
pub struct Conn {
    held: Held,
    dialect: Dialect,
    patience: Patience,
    /// What this connection remembers of jobs: what all of a store's do or, within a transaction, only what it sees itself.
    sheets: Arc<Sheets>,
    ring: Ring,
    outdated: Arc<Outdated>,
    /// Where another connection comes from, until an answer has come on this one.
    untried: Option<AnyPool>,
    /// Whether a statement has changed a row.
    has_written: bool,
    #[cfg(debug_assertions)]
    failpoints: Arc<Failpoints>,
    /// The last statement, whose name the commit's failpoints have.
    #[cfg(debug_assertions)]
    last: &'static str,
}

#[derive(Debug)]
enum Held {
    Pooled(PoolConnection<Any>),
    Begun(Transaction<'static, Any>),
}

/// A connection within a transaction that writes.
#[derive(Debug)]
pub struct Tx(Conn);

impl Deref for Tx {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

impl Tx {
    pub(super) fn new(begun: Transaction<'static, Any>, store: &Store) -> Self {
        Self(Conn::begun(begun, store))
    }

    pub(super) async fn commit(self) -> Result<()> {
        #[cfg(debug_assertions)]
        if let Err(error) = self.0.failpoints.pass_commit(self.0.last, When::Before) {
            // Where a server refuses, its locks are gone when that is told; what is dropped keeps them until the pool comes to it.
            let _ = self.rollback().await;
            return Err(error);
        }
        let conn = self.0;
        match conn.held {
            Held::Begun(begun) => conn.patience.wait(begun.commit()).await.map_err(StoreError::of_commit)?,
            Held::Pooled(_) => unreachable!("a transaction is made of a begun one"),
        }
        #[cfg(debug_assertions)]
        conn.failpoints.pass_commit(conn.last, When::After)?;
        Ok(())
    }

    /// Whether it has changed a row, by a statement that says how many.
    pub(super) fn has_written(&self) -> bool {
        self.0.has_written
    }

    /// Undoes it all. A connection that cannot is given up by the pool.
    pub(super) async fn rollback(self) -> Result<()> {
        match self.0.held {
            Held::Begun(begun) => Ok(begun.rollback().await?),
            Held::Pooled(_) => unreachable!("a transaction is made of a begun one"),
        }
    }
}

impl Conn {
    pub(super) fn pooled(connection: PoolConnection<Any>, store: &Store) -> Self {
        let untried = (store.inner.dialect == Dialect::Postgres).then(|| store.inner.readers.clone());
        Self { untried, ..Self::new(Held::Pooled(connection), store) }
    }

    pub(super) fn begun(transaction: Transaction<'static, Any>, store: &Store) -> Self {
        Self::new(Held::Begun(transaction), store)
    }

    fn new(held: Held, store: &Store) -> Self {
        let sheets = match held {
            Held::Pooled(_) => Arc::clone(&store.inner.sheets),
            Held::Begun(_) => Arc::default(),
        };
        Self {
            held,
            sheets,
            ring: Ring::of(store.inner.keys.as_ref()),
            dialect: store.inner.dialect,
            outdated: Arc::clone(&store.inner.outdated),
            untried: None,
            has_written: false,
            patience: store.inner.patience,
            #[cfg(debug_assertions)]
            failpoints: Arc::clone(&store.inner.failpoints),
            #[cfg(debug_assertions)]
            last: "",
        }
    }

    /// Which database this is.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether a test wants the clock of its own to count on a server, too.
    pub(crate) fn goes_by_callers(&self) -> bool {
        #[cfg(debug_assertions)]
        return self.failpoints.has_callers_clock();
        #[cfg(not(debug_assertions))]
        return false;
    }

    pub(crate) fn sheets(&self) -> &Arc<Sheets> {
        &self.sheets
    }

    pub(crate) fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }

    pub(super) fn any(&mut self) -> &mut AnyConnection {
        match &mut self.held {
            Held::Pooled(connection) => connection,
            Held::Begun(transaction) => transaction,
        }
    }

    pub(super) async fn ping(&mut self) -> Result<()> {
        let patience = self.patience;
        patience.wait(self.any().ping()).await
    }

    /// Runs a statement and says how many rows it touched.
    pub(crate) async fn execute(&mut self, statement: &'static Statement, args: Args) -> Result<u64> {
        #[cfg(debug_assertions)]
        self.pass(statement, When::Before)?;
        let touched = self.change(statement.text(self.dialect), args).await?;
        #[cfg(debug_assertions)]
        self.pass(statement, When::After)?;
        Ok(touched)
    }

    /// Runs a text and says how many rows it touched.
    pub(super) async fn change(&mut self, text: impl SqlSafeStr, args: Args) -> Result<u64> {
        let patience = self.patience;
        let done = patience.wait(sqlx::query_with(text, args.0).execute(self.any())).await;
        let touched = self.noted(done)?.rows_affected();
        self.has_written |= touched > 0;
        Ok(touched)
    }

    /// The rows of a statement.
    pub(crate) async fn rows(&mut self, statement: &'static Statement, args: Args) -> Result<Vec<Row>> {
        #[cfg(debug_assertions)]
        self.pass(statement, When::Before)?;
        let text = statement.text(self.dialect);
        let done = match self.untried.take() {
            None => self.fetch(text, args).await,
            Some(pool) => {
                let again = args.copied();
                match self.fetch(text, args).await {
                    Err(error) if error.has_lost_connection() => {
                        self.outdated.note_all();
                        self.held = Held::Pooled(pool.acquire().await?);
                        self.fetch(text, again).await
                    }
                    done => done,
                }
            }
        };
        let rows = self.noted(done)?;
        #[cfg(debug_assertions)]
        self.pass(statement, When::After)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    async fn fetch(&mut self, text: &'static str, args: Args) -> Result<Vec<AnyRow>> {
        let patience = self.patience;
        patience.wait(sqlx::query_with(text, args.0).fetch_all(self.any())).await
    }

    fn noted<T>(&self, done: Result<T>) -> Result<T> {
        done.inspect_err(|error| self.outdated.note(error))
    }

    /// The first row of a statement, if there is one.
    pub(crate) async fn first(&mut self, statement: &'static Statement, args: Args) -> Result<Option<Row>> {
        // All rows are fetched: a statement that is left half-way keeps SQLite's read lock, and a `RETURNING` undone.
        Ok(self.rows(statement, args).await?.into_iter().next())
    }

    #[cfg(debug_assertions)]
    pub(super) fn pass(&mut self, statement: &'static Statement, when: When) -> Result<()> {
        self.last = statement.name();
        self.failpoints.pass(self.last, when)
    }

    /// Whether the database understands a statement; for the test of the list.
    #[cfg(test)]
    pub(crate) async fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        use sqlx::Executor as _;
        let text = statement.text(self.dialect).into_sql_str();
        self.any().prepare(text).await?;
        Ok(())
    }
}

/// A row of an answer. Columns are asked for by name.
pub(crate) struct Row(pub(super) AnyRow);

impl Row {
    /// A value; `Option<T>` where the column may be NULL.
    pub(crate) fn get<'r, T>(&'r self, column: &str) -> Result<T>
    where
        T: sqlx::Decode<'r, Any> + sqlx::Type<Any>,
    {
        Ok(self.0.try_get(column)?)
    }

    /// A text that stands for something of ours.
    pub(crate) fn parse<T: std::str::FromStr>(&self, column: &'static str) -> Result<T> {
        let text: String = self.get(column)?;
        text.parse().map_err(|_| StoreError::corrupt(format!("column {column} cannot be read")))
    }
}

/// The arguments of a statement. Build with [`args!`].
#[derive(Default)]
pub(crate) struct Args(pub(crate) AnyArguments);

impl Args {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.values.0.len()
    }

    /// Puts others behind these.
    pub(super) fn append(&mut self, mut others: Self) {
        self.0.values.0.append(&mut others.0.values.0);
    }

    /// The same once more.
    fn copied(&self) -> Self {
        let mut copied = AnyArguments::default();
        copied.values.0.clone_from(&self.0.values.0);
        Self(copied)
    }
}

/// A value that a statement takes.
pub(crate) trait Argument {
    /// Puts it behind the others.
    fn add(self, args: &mut Args);

    /// The arguments with it behind the others.
    fn added(self, mut args: Args) -> Args
    where
        Self: Sized,
    {
        self.add(&mut args);
        args
    }
}

macro_rules! plain_arguments {
    ($($type:ty),+) => {$(
        impl Argument for $type {
            fn add(self, args: &mut Args) {
                use sqlx::Arguments as _;
                args.0.add(self).expect("plain values encode");
            }
        }
    )+};
}
plain_arguments!(i64, Option<i64>, String, Option<String>, Vec<u8>, Option<Vec<u8>>);

impl Argument for &str {
    fn add(self, args: &mut Args) {
        self.to_owned().add(args);
    }
}

impl Argument for Option<&str> {
    fn add(self, args: &mut Args) {
        self.map(str::to_owned).add(args);
    }
}

impl Argument for &[u8] {
    fn add(self, args: &mut Args) {
        self.to_vec().add(args);
    }
}

impl<const N: usize> Argument for &[u8; N] {
    fn add(self, args: &mut Args) {
        self.to_vec().add(args);
    }
}

impl Argument for probity_mail::time::Millis {
    fn add(self, args: &mut Args) {
        self.0.add(args);
    }
}

impl Argument for Option<probity_mail::time::Millis> {
    fn add(self, args: &mut Args) {
        self.map(|at| at.0).add(args);
    }
}

impl Argument for bool {
    fn add(self, args: &mut Args) {
        i64::from(self).add(args);
    }
}

/// The arguments of a statement, in the order of `$1`, `$2`, ...
macro_rules! args {
    ($($value:expr),* $(,)?) => {{
        let args = $crate::db::Args::default();
        $(let args = $crate::db::Argument::added($value, args);)*
        args
    }};
}
pub(crate) use args;
