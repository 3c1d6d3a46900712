//! Connections, transactions, their arguments and rows.
//!
//! [`Conn`] reads and [`Tx`] also writes: a function that changes data takes a `Tx`, so it cannot be called outside a transaction.
//! Only [`Store`] creates either, and only it commits. The pool rolls back a dropped `Tx`, but later, and its locks remain until
//! then; so roll back explicitly, as `Store::write` does.
//!
//! [`Patience`] bounds the wait for each response. A late response is [`StoreError::Unavailable`], and whether the statement was
//! executed is unknown. In builds for tests, each statement and each commit passes its failpoints here.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, AnyPool, Arguments as _, Connection, Row as _, SqlSafeStr, Transaction};

use super::Store;
use super::attached::StoreAttachments;
#[cfg(feature = "failpoints")]
use super::failpoint::{FailpointSide, Failpoints};
use super::outdated::Outdated;
use super::patience::Patience;
use super::sql::dialect::SqlDialect;
use super::sql::statement::Statement;
use crate::error::{Result, StoreError};

#[derive(Debug)]
pub struct Conn {
    held: HeldConn,
    dialect: SqlDialect,
    patience: Patience,
    /// Values of the whole store, and of this connection alone.
    attached: Arc<StoreAttachments>,
    own: StoreAttachments,
    outdated: Arc<Outdated>,
    /// Pool for a replacement connection, until this one has responded once.
    untried: Option<AnyPool>,
    /// Whether a statement has changed a row.
    has_written: bool,
    #[cfg(feature = "failpoints")]
    failpoints: Arc<Failpoints>,
    /// Last statement; it names the commit's failpoints.
    #[cfg(feature = "failpoints")]
    last: &'static str,
}

#[derive(Debug)]
enum HeldConn {
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
    pub(crate) fn new(begun: Transaction<'static, Any>, store: &Store) -> Self {
        Self(Conn::begun(begun, store))
    }

    pub(crate) async fn commit(self) -> Result<()> {
        #[cfg(feature = "failpoints")]
        if let Err(error) = self.0.failpoints.pass_commit(self.0.last, FailpointSide::Before) {
            // If a server rejects the commit, its locks are gone once it says so; dropping keeps them until the pool rolls back.
            let _ = self.rollback().await;
            return Err(error.into());
        }
        let conn = self.0;
        match conn.held {
            HeldConn::Begun(begun) => conn.patience.wait(begun.commit()).await.map_err(StoreError::of_commit)?,
            HeldConn::Pooled(_) => unreachable!("a transaction is made of a begun one"),
        }
        #[cfg(feature = "failpoints")]
        conn.failpoints.pass_commit(conn.last, FailpointSide::After)?;
        Ok(())
    }

    /// Whether a statement that reports its row count has changed a row.
    pub(crate) fn has_written(&self) -> bool {
        self.0.has_written
    }

    /// Rolls back. The pool discards a connection that cannot roll back.
    pub(crate) async fn rollback(self) -> Result<()> {
        match self.0.held {
            HeldConn::Begun(begun) => Ok(begun.rollback().await?),
            HeldConn::Pooled(_) => unreachable!("a transaction is made of a begun one"),
        }
    }
}

impl Conn {
    pub(crate) fn pooled(connection: PoolConnection<Any>, store: &Store) -> Self {
        let untried = (store.inner.dialect == SqlDialect::Postgres).then(|| store.inner.readers.clone());
        Self { untried, ..Self::new(HeldConn::Pooled(connection), store) }
    }

    pub(crate) fn begun(transaction: Transaction<'static, Any>, store: &Store) -> Self {
        Self::new(HeldConn::Begun(transaction), store)
    }

    fn new(held: HeldConn, store: &Store) -> Self {
        Self {
            held,
            attached: Arc::clone(&store.inner.attached),
            own: StoreAttachments::default(),
            dialect: store.inner.dialect,
            outdated: Arc::clone(&store.inner.outdated),
            untried: None,
            has_written: false,
            patience: store.inner.patience,
            #[cfg(feature = "failpoints")]
            failpoints: Arc::clone(&store.inner.failpoints),
            #[cfg(feature = "failpoints")]
            last: "",
        }
    }

    /// Which database this is.
    pub fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    /// Whether times are the caller's: with SQLite, which shares the caller's clock, and in tests with a clock of their own.
    pub fn takes_callers_time(&self) -> bool {
        #[cfg(feature = "failpoints")]
        if self.failpoints.has_callers_clock() {
            return true;
        }
        self.dialect == SqlDialect::Sqlite
    }

    /// Whether it is in a transaction, so that it may see older data than others do.
    pub fn is_in_transaction(&self) -> bool {
        matches!(self.held, HeldConn::Begun(_))
    }

    /// Value of this type that was attached when the store was opened, if any.
    pub fn attached<T: std::any::Any>(&self) -> Option<&T> {
        self.attached.get()
    }

    /// Value of this type that belongs to this connection alone: created on first use, dropped with the connection.
    pub fn own<T: std::any::Any + Default + Send + Sync>(&mut self) -> &mut T {
        self.own.get_or_default()
    }

    pub(crate) fn any(&mut self) -> &mut AnyConnection {
        match &mut self.held {
            HeldConn::Pooled(connection) => connection,
            HeldConn::Begun(transaction) => transaction,
        }
    }

    pub(crate) async fn ping(&mut self) -> Result<()> {
        let patience = self.patience;
        patience.wait(self.any().ping()).await
    }

    /// Executes a statement; returns the number of rows affected.
    pub async fn execute(&mut self, statement: &'static Statement, args: StatementArgs) -> Result<u64> {
        #[cfg(feature = "failpoints")]
        self.pass(statement, FailpointSide::Before)?;
        let touched = self.change(statement.text(self.dialect), args).await?;
        #[cfg(feature = "failpoints")]
        self.pass(statement, FailpointSide::After)?;
        Ok(touched)
    }

    /// Executes an SQL text; returns the number of rows affected.
    pub(crate) async fn change(&mut self, text: impl SqlSafeStr, args: StatementArgs) -> Result<u64> {
        let patience = self.patience;
        let done = patience.wait(sqlx::query_with(text, args.0).execute(self.any())).await;
        let touched = self.noted(done)?.rows_affected();
        self.has_written |= touched > 0;
        Ok(touched)
    }

    pub async fn rows(&mut self, statement: &'static Statement, args: StatementArgs) -> Result<Vec<ResultRow>> {
        #[cfg(feature = "failpoints")]
        self.pass(statement, FailpointSide::Before)?;
        let text = statement.text(self.dialect);
        let done = match self.untried.take() {
            None => self.fetch(text, args).await,
            Some(pool) => {
                let again = args.copied();
                match self.fetch(text, args).await {
                    Err(error) if error.has_lost_connection() => {
                        self.outdated.note_all();
                        self.held = HeldConn::Pooled(pool.acquire().await?);
                        self.fetch(text, again).await
                    }
                    done => done,
                }
            }
        };
        let rows = self.noted(done)?;
        #[cfg(feature = "failpoints")]
        self.pass(statement, FailpointSide::After)?;
        Ok(rows.into_iter().map(ResultRow).collect())
    }

    async fn fetch(&mut self, text: &'static str, args: StatementArgs) -> Result<Vec<AnyRow>> {
        let patience = self.patience;
        patience.wait(sqlx::query_with(text, args.0).fetch_all(self.any())).await
    }

    fn noted<T>(&self, done: Result<T>) -> Result<T> {
        done.inspect_err(|error| self.outdated.note(error))
    }

    /// First row of a statement, if any.
    pub async fn first(&mut self, statement: &'static Statement, args: StatementArgs) -> Result<Option<ResultRow>> {
        // All rows are fetched: a half-read statement would keep SQLite's read lock and leave a `RETURNING` unexecuted.
        Ok(self.rows(statement, args).await?.into_iter().next())
    }

    #[cfg(feature = "failpoints")]
    pub(crate) fn pass(&mut self, statement: &'static Statement, when: FailpointSide) -> Result<()> {
        self.last = statement.name();
        Ok(self.failpoints.pass(self.last, when)?)
    }

    /// Checks that the database can prepare a statement; for tests of the list.
    #[cfg(feature = "failpoints")]
    pub async fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        use sqlx::Executor as _;
        let text = statement.text(self.dialect).into_sql_str();
        self.any().prepare(text).await?;
        Ok(())
    }
}

/// Row of a result. Columns are read by name, or by place where there are few.
pub struct ResultRow(pub(crate) AnyRow);

impl ResultRow {
    /// Reads a value; use `Option<T>` if the column may be NULL.
    pub fn get<'r, T>(&'r self, column: &str) -> Result<T>
    where
        T: sqlx::Decode<'r, Any> + sqlx::Type<Any>,
    {
        Ok(self.0.try_get(column)?)
    }

    /// As [`ResultRow::get`], by the place of the column.
    pub fn at<'r, T>(&'r self, place: usize) -> Result<T>
    where
        T: sqlx::Decode<'r, Any> + sqlx::Type<Any>,
    {
        Ok(self.0.try_get(place)?)
    }

    /// Name of a column.
    pub fn name_at(&self, place: usize) -> &str {
        self.0.columns().get(place).map_or("?", sqlx::Column::name)
    }
}

/// Arguments of a statement, in the order of `$1`, `$2`, ...
#[derive(Default)]
pub struct StatementArgs(pub(crate) AnyArguments);

impl StatementArgs {
    /// Appends a value: `i64`, `String`, `Vec<u8>`, or an option of these. For other types, columns of the databases differ.
    #[must_use]
    pub fn with<T>(mut self, value: T) -> Self
    where
        T: for<'q> sqlx::Encode<'q, Any> + sqlx::Type<Any>,
    {
        self.0.add(value).expect("plain values encode");
        self
    }

    /// Number of arguments.
    pub(crate) fn len(&self) -> usize {
        self.0.values.0.len()
    }

    /// Appends other arguments.
    pub(crate) fn append(&mut self, mut others: Self) {
        self.0.values.0.append(&mut others.0.values.0);
    }

    /// Copies the arguments.
    fn copied(&self) -> Self {
        let mut copied = AnyArguments::default();
        copied.values.0.clone_from(&self.0.values.0);
        Self(copied)
    }
}
