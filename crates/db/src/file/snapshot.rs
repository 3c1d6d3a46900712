//! Copies a SQLite database in use, and checks a file's integrity.

use std::path::Path;

use sqlx::{Executor as _, Row as _};

use crate::error::{Result, StoreError};
use crate::{SqlDialect, Store};

/// Maximum faults reported per file: one is enough to reject it.
const FAULTS_MAX: usize = 10;

impl Store {
    /// Writes a compact copy of one instant to a file that does not exist or is empty. Readers and writers continue meanwhile, in
    /// this process or another. The copy may not be on disk yet when this returns.
    pub async fn copy_into(&self, target: &Path) -> Result<()> {
        if self.dialect() != SqlDialect::Sqlite {
            return Err(StoreError::corrupt("only a SQLite file can be copied"));
        }
        let target = target.to_str().ok_or_else(|| StoreError::corrupt("the path of the copy is no UTF-8"))?;
        let mut connection = self.inner.writers.acquire().await?;
        sqlx::query("VACUUM INTO $1").bind(target).execute(&mut *connection).await?;
        Ok(())
    }

    /// Structural faults of a SQLite file; empty if it is intact. Reads the whole file.
    pub async fn faults(&self) -> Result<Vec<String>> {
        let mut connection = self.inner.writers.acquire().await?;
        let rows = connection.fetch_all("PRAGMA integrity_check").await?;
        let mut faults = Vec::new();
        for row in rows.iter().take(FAULTS_MAX) {
            faults.push(row.try_get::<String, _>("integrity_check")?);
        }
        faults.retain(|fault| fault != "ok");
        let dangling = connection.fetch_all("PRAGMA foreign_key_check").await?.len();
        if dangling > 0 {
            faults.push(format!("{dangling} rows point to rows that are missing"));
        }
        Ok(faults)
    }
}
