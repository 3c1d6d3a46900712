//! Shrinks a SQLite file. PostgreSQL's own vacuum does that there.
//!
//! Deleted data leaves free pages in the file. [`Store::give_back`] moves pages from its end into them and truncates it, some pages
//! per transaction, so that no request waits long for the writer. Deleted data is overwritten in the file at once
//! (`secure_delete`), but remains in the log of earlier writes until that is emptied: [`Store::empty_log`].

use scoped_futures::ScopedFutureExt as _;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::error::{Result, StoreError};
use crate::{SqlDialect, StatementArgs, Store};

/// Divisor of the file size: up to an eighth may stay free. Free pages are reused, and a file that shrinks and grows again only
/// costs writes.
const SPARE_PART: i64 = 8;
/// Free pages that are always kept: 1 MiB.
const SPARE_PAGES: i64 = 256;

impl Store {
    /// Returns at most `pages_max` free pages of a SQLite file to the system; returns their number. The file is truncated once its
    /// log is written back.
    pub async fn give_back(&self, pages_max: u32) -> Result<u64> {
        if self.dialect() != SqlDialect::Sqlite {
            return Ok(0);
        }
        let (free, pages) = (self.pragma("freelist_count").await?, self.pragma("page_count").await?);
        let wanted = (free - (pages / SPARE_PART).max(SPARE_PAGES)).min(pages_max.into());
        let Ok(given @ 1..) = u64::try_from(wanted) else { return Ok(0) };
        let text = format!("PRAGMA incremental_vacuum({given})");
        let work =
            self.write_bulk(|tx| tx.execute_made(text.as_str().into(), StatementArgs::default(), false).scope_boxed());
        work.await.map(|_| given)
    }

    /// Writes SQLite's log back into the file and truncates it, so that no deleted data remains. False if a reader still uses older
    /// data; retry then.
    pub async fn empty_log(&self) -> Result<bool> {
        if self.dialect() != SqlDialect::Sqlite {
            return Ok(true);
        }
        let mut connection = self.inner.writers.acquire().await?;
        // Waiting for readers here blocks writers. The connection and its patience setting are not used again.
        connection.close_on_drop();
        connection.execute("PRAGMA busy_timeout = 50").await?;
        let row = connection.fetch_one("PRAGMA wal_checkpoint(TRUNCATE)").await?;
        Ok(row.try_get::<i64, _>("busy")? == 0)
    }

    /// Lets PostgreSQL reclaim the deleted rows of these tables, which are ours; SQLite already has.
    pub async fn vacuum(&self, tables: &[&str]) -> Result<()> {
        if self.dialect() != SqlDialect::Postgres || tables.is_empty() {
            return Ok(());
        }
        let mut connection = self.inner.writers.acquire().await?;
        // A large table may exceed the statement timeout; the connection is not used again.
        connection.close_on_drop();
        connection.execute("SET statement_timeout = 0").await?;
        for table in tables {
            connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("VACUUM {table}")))).await?;
        }
        Ok(())
    }

    async fn pragma(&self, name: &'static str) -> Result<i64> {
        let rows = self.read().await?.rows_made(format!("PRAGMA {name}"), StatementArgs::default()).await?;
        rows.first().ok_or(StoreError::NotFound)?.get(name)
    }
}
