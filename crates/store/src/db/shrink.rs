//! Giving back what a SQLite file does not need any more. PostgreSQL's own vacuum does that there.
//!
//! What was deleted leaves free pages in the file. [`Store::give_back`] moves pages from its end into them and cuts it, some pages a transaction, so that no request waits long for the writer. What was deleted is overwritten in
//! the file at once (`secure_delete`) but stands in the log of earlier writes until that is emptied: [`Store::empty_log`].

use scoped_futures::ScopedFutureExt as _;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::{Dialect, Store};
use crate::db::args;
use crate::error::{Result, StoreError};

/// So large a part of the file may be free: what was deleted makes room for what comes next, and a file that shrinks and grows
/// again only costs writes.
const SPARE_PART: i64 = 8;
/// So many pages are never given back: a megabyte.
const SPARE_PAGES: i64 = 256;

impl Store {
    /// Gives free pages of a SQLite file back, so many at most; says how many. The file is cut when its log has gone back into it.
    pub async fn give_back(&self, pages_max: u32) -> Result<u64> {
        if self.dialect() != Dialect::Sqlite {
            return Ok(0);
        }
        let (free, pages) = (self.pragma("freelist_count").await?, self.pragma("page_count").await?);
        let wanted = (free - (pages / SPARE_PART).max(SPARE_PAGES)).min(pages_max.into());
        let Ok(given @ 1..) = u64::try_from(wanted) else { return Ok(0) };
        let text = format!("PRAGMA incremental_vacuum({given})");
        let work = self.write_bulk(|tx| tx.execute_made(text.as_str().into(), args![], false).scope_boxed());
        work.await.map(|_| given)
    }

    /// Puts SQLite's log back into the file and cuts it to nothing, so that what was deleted is nowhere any more. False where somebody
    /// still reads what is older; then it is to be tried again.
    pub async fn empty_log(&self) -> Result<bool> {
        if self.dialect() != Dialect::Sqlite {
            return Ok(true);
        }
        let mut connection = self.inner.writers.acquire().await?;
        // Whoever waits here for readers keeps writers waiting. The connection is not used again, and its patience goes with it.
        connection.close_on_drop();
        connection.execute("PRAGMA busy_timeout = 50").await?;
        let row = connection.fetch_one("PRAGMA wal_checkpoint(TRUNCATE)").await?;
        Ok(row.try_get::<i64, _>("busy")? == 0)
    }

    /// Lets PostgreSQL remove what was deleted from these tables, which are ours; SQLite has done it.
    pub async fn vacuum(&self, tables: &[&str]) -> Result<()> {
        if self.dialect() != Dialect::Postgres || tables.is_empty() {
            return Ok(());
        }
        let mut connection = self.inner.writers.acquire().await?;
        // A large table takes longer than a statement may; the connection is not used again.
        connection.close_on_drop();
        connection.execute("SET statement_timeout = 0").await?;
        for table in tables {
            connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("VACUUM {table}")))).await?;
        }
        Ok(())
    }

    async fn pragma(&self, name: &'static str) -> Result<i64> {
        let rows = self.read().await?.rows_made(format!("PRAGMA {name}"), args![]).await?;
        rows.first().ok_or(StoreError::NotFound)?.get(name)
    }
}
