//! Migrations: one set of files for both databases, applied in order, each once.
//!
//! The library keeps the list of what was applied, with checksums, and a lock, so that several nodes that start at once wait
//! for the first. A database that is newer than this program is refused.

use sqlx::migrate::{Migrate as _, Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::Store;
use super::dialect::Dialect;
use crate::error::Result;

/// Number, name and text of each migration.
const MIGRATIONS: &[(i64, &str, &str)] = &[(1, "accounts", include_str!("../../migrations/0001_accounts.sql"))];

/// The table in which the library keeps what was applied.
const TABLE: &str = "_sqlx_migrations";

/// How the tables of a database compare with this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// Everything is applied.
    Current,
    /// So many migrations are to be applied.
    Behind(usize),
    /// It was changed by a newer version of this program.
    Ahead,
}

impl Store {
    /// Applies what is missing, and says how many migrations that were.
    pub async fn migrate(&self) -> Result<usize> {
        let before = self.applied().await?.len();
        let mut writer = self.inner.writers.acquire().await?;
        migrator(self.dialect()).run(&mut *writer).await?;
        drop(writer);
        Ok(self.applied().await?.len() - before)
    }

    /// How the tables compare with this program.
    pub async fn schema_state(&self) -> Result<SchemaState> {
        let applied = self.applied().await?;
        if applied.iter().any(|version| !MIGRATIONS.iter().any(|(known, ..)| known == version)) {
            return Ok(SchemaState::Ahead);
        }
        match MIGRATIONS.len() - applied.len() {
            0 => Ok(SchemaState::Current),
            missing => Ok(SchemaState::Behind(missing)),
        }
    }

    async fn applied(&self) -> Result<Vec<i64>> {
        // Through a writer: a new SQLite file gets the library's table here.
        let mut writer = self.inner.writers.acquire().await?;
        writer.ensure_migrations_table(TABLE).await?;
        let applied = writer.list_applied_migrations(TABLE).await?;
        Ok(applied.into_iter().map(|migration| migration.version).collect())
    }
}

fn migrator(dialect: Dialect) -> Migrator {
    let migrations = MIGRATIONS.iter().map(|(version, name, text)| {
        let text = AssertSqlSafe(dialect.render(text)).into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, text, false)
    });
    Migrator::with_migrations(migrations.collect())
}
