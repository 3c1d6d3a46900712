//! Statements built at run time from table and column names. Only a move needs them, because it must include tables added later.
//! All other statements are in the list (`statement.rs`).

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use futures_util::stream::{BoxStream, StreamExt as _};
use sqlx::{Any, Arguments as _, AssertSqlSafe, Row as _};

use crate::connection::{Conn, ResultRow, StatementArgs};
use crate::error::{Result, StoreError};

/// Column types of both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// `BIGINT`.
    Whole,
    /// `DOUBLE PRECISION`.
    Double,
    /// `TEXT`.
    Text,
    /// `BYTEA` or `BLOB`.
    Bytes,
}

impl Conn {
    /// Executes a built statement. `again`: the text will repeat, so it stays prepared.
    pub async fn execute_made(&mut self, text: Arc<str>, args: StatementArgs, again: bool) -> Result<u64> {
        let query = sqlx::query_with(AssertSqlSafe(text), args.0).persistent(again);
        Ok(query.execute(self.any()).await?.rows_affected())
    }

    /// Returns the rows of a built statement.
    pub async fn rows_made(&mut self, text: String, args: StatementArgs) -> Result<Vec<ResultRow>> {
        let rows = sqlx::query_with(AssertSqlSafe(text), args.0).persistent(false).fetch_all(self.any()).await?;
        Ok(rows.into_iter().map(ResultRow).collect())
    }

    /// Streams the rows of a built statement, a few at a time in memory.
    pub fn stream_made(&mut self, text: String) -> BoxStream<'_, Result<ResultRow>> {
        let rows = sqlx::query(AssertSqlSafe(text)).persistent(false).fetch(self.any());
        rows.map_ok(ResultRow).map_err(StoreError::from).boxed()
    }
}

impl ResultRow {
    /// Appends a column's value to the arguments; returns its size in bytes.
    pub fn pass(&self, column: usize, kind: ColumnType, args: &mut StatementArgs) -> Result<usize> {
        match kind {
            ColumnType::Whole => self.pass_as(column, args, |_: &i64| size_of::<i64>()),
            ColumnType::Double => self.pass_as(column, args, |_: &f64| size_of::<f64>()),
            ColumnType::Text => self.pass_as(column, args, String::len),
            ColumnType::Bytes => self.pass_as(column, args, Vec::<u8>::len),
        }
    }

    fn pass_as<'r, T>(
        &'r self,
        column: usize,
        args: &mut StatementArgs,
        size: impl FnOnce(&T) -> usize,
    ) -> Result<usize>
    where
        T: sqlx::Decode<'r, Any> + sqlx::Encode<'r, Any> + sqlx::Type<Any> + 'r,
    {
        let value: Option<T> = self.0.try_get(column)?;
        let size = value.as_ref().map_or(0, size);
        args.0.add(value).expect("plain values encode");
        Ok(size)
    }
}
