//! Connections, transactions, their arguments and rows.
//!
//! [`Conn`] reads and [`Tx`] also writes: a function that changes data takes a `Tx`, so it cannot be called outside a transaction.
//! Only [`Store`] creates either, and only it commits. The pool rolls back a dropped `Tx`, but later, and its locks remain until
//! then; so roll back explicitly, as `Store::write` does.
//!
//! [`Patience`] bounds the wait for each response. A late response is [`StoreError::Unavailable`], and whether the statement was
//! executed is unknown. In debug builds, each statement and each commit passes its failpoints here.

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

#[derive(Debug)]
pub struct Conn {
    held: Held,
    dialect: Dialect,
    patience: Patience,
    /// Cached job results: those shared by the whole store or, within a transaction, only those it reads itself.
    sheets: Arc<Sheets>,
    ring: Ring,
    outdated: Arc<Outdated>,
    /// Pool for a replacement connection, until this one has responded once.
    untried: Option<AnyPool>,
    /// Whether a statement has changed a row.
    has_written: bool,
    #[cfg(debug_assertions)]
    failpoints: Arc<Failpoints>,
    /// Last statement; it names the commit's failpoints.
    #[cfg(debug_assertions)]
    last: &'static str,
}

#[derive(Debug)]
enum Held {
    Pooled(PoolConnection<Any>),
    Begun(Transaction<'static, Any>),
}

/// Connection within a write transaction.
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
            // If a server rejects the commit, its locks are gone once it says so; dropping keeps them until the pool rolls back.
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

    /// Whether a statement that reports its row count has changed a row.
    pub(super) fn has_written(&self) -> bool {
        self.0.has_written
    }

    /// Rolls back. The pool discards a connection that cannot roll back.
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

    /// Whether a test uses its own clock on a server, too.
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

    /// Executes a statement; returns the number of rows affected.
    pub(crate) async fn execute(&mut self, statement: &'static Statement, args: Args) -> Result<u64> {
        #[cfg(debug_assertions)]
        self.pass(statement, When::Before)?;
        let touched = self.change(statement.text(self.dialect), args).await?;
        #[cfg(debug_assertions)]
        self.pass(statement, When::After)?;
        Ok(touched)
    }

    /// Executes an SQL text; returns the number of rows affected.
    pub(super) async fn change(&mut self, text: impl SqlSafeStr, args: Args) -> Result<u64> {
        let patience = self.patience;
        let done = patience.wait(sqlx::query_with(text, args.0).execute(self.any())).await;
        let touched = self.noted(done)?.rows_affected();
        self.has_written |= touched > 0;
        Ok(touched)
    }

    /// Rows of a statement.
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

    /// First row of a statement, if any.
    pub(crate) async fn first(&mut self, statement: &'static Statement, args: Args) -> Result<Option<Row>> {
        // All rows are fetched: a half-read statement would keep SQLite's read lock and leave a `RETURNING` unexecuted.
        Ok(self.rows(statement, args).await?.into_iter().next())
    }

    #[cfg(debug_assertions)]
    pub(super) fn pass(&mut self, statement: &'static Statement, when: When) -> Result<()> {
        self.last = statement.name();
        self.failpoints.pass(self.last, when)
    }

    /// Checks that the database can prepare a statement; for the test of the list.
    #[cfg(test)]
    pub(crate) async fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        use sqlx::Executor as _;
        let text = statement.text(self.dialect).into_sql_str();
        self.any().prepare(text).await?;
        Ok(())
    }
}

/// Row of a result. Columns are read by name.
pub(crate) struct Row(pub(super) AnyRow);

impl Row {
    /// Reads a value; use `Option<T>` if the column may be NULL.
    pub(crate) fn get<'r, T>(&'r self, column: &str) -> Result<T>
    where
        T: sqlx::Decode<'r, Any> + sqlx::Type<Any>,
    {
        Ok(self.0.try_get(column)?)
    }

    /// Parses a text column into a domain type.
    pub(crate) fn parse<T: std::str::FromStr>(&self, column: &'static str) -> Result<T> {
        let text: String = self.get(column)?;
        text.parse().map_err(|_| StoreError::corrupt(format!("column {column} cannot be read")))
    }
}

/// Arguments of a statement. Build with [`args!`].
#[derive(Default)]
pub(crate) struct Args(pub(crate) AnyArguments);

impl Args {
    /// Number of arguments.
    pub(super) fn len(&self) -> usize {
        self.0.values.0.len()
    }

    /// Appends other arguments.
    pub(super) fn append(&mut self, mut others: Self) {
        self.0.values.0.append(&mut others.0.values.0);
    }

    /// Copies the arguments.
    fn copied(&self) -> Self {
        let mut copied = AnyArguments::default();
        copied.values.0.clone_from(&self.0.values.0);
        Self(copied)
    }
}

pub(crate) trait Argument {
    /// Appends the value to the arguments.
    fn add(self, args: &mut Args);

    /// Returns the arguments with the value appended.
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

/// Builds the arguments of a statement, in the order of `$1`, `$2`, ...
macro_rules! args {
    ($($value:expr),* $(,)?) => {{
        let args = $crate::db::Args::default();
        $(let args = $crate::db::Argument::added($value, args);)*
        args
    }};
}
pub(crate) use args;
