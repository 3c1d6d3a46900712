//! Migrations: one set of files for both databases, each applied once, in order.
//!
//! The library keeps the list of applied migrations, with checksums, and a lock, so that nodes that start together wait for the
//! first. A database newer than this program is rejected.

use sqlx::migrate::{Migrate as _, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AssertSqlSafe, SqlSafeStr as _};

use crate::Store;
use crate::error::Result;
use crate::sql::dialect::SqlDialect;

/// Number, name and text of a migration. Those that were released never change.
pub type SchemaMigration = (i64, &'static str, &'static str);

/// Table in which the library records applied migrations.
const TABLE: &str = "_sqlx_migrations";

/// Database schema compared with this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// All migrations are applied.
    Current,
    /// Number of pending migrations.
    Behind(usize),
    /// Changed by a newer version of this program.
    Ahead,
}

impl Store {
    /// Applies pending migrations; returns their number. Waits for another node that is migrating.
    pub async fn migrate(&self) -> Result<usize> {
        let mut writer = self.inner.writers.acquire().await?;
        let migrated = migrate(&mut writer, self.dialect(), self.inner.migrations).await;
        if migrated.is_err() {
            // The lock ends with the connection.
            let _ = writer.close().await;
        }
        migrated
    }

    /// Compares the schema with this program.
    pub async fn schema_state(&self) -> Result<SchemaState> {
        let applied = applied(&mut *self.inner.readers.acquire().await?, self.dialect()).await?;
        if applied.iter().any(|version| !self.inner.migrations.iter().any(|(known, ..)| known == version)) {
            return Ok(SchemaState::Ahead);
        }
        match self.inner.migrations.len() - applied.len() {
            0 => Ok(SchemaState::Current),
            missing => Ok(SchemaState::Behind(missing)),
        }
    }
}

/// Migrates under one lock, including the library's table: PostgreSQL fails all but one of several concurrent creations of a table,
/// even with `IF NOT EXISTS`.
async fn migrate(
    writer: &mut AnyConnection,
    dialect: SqlDialect,
    migrations: &'static [SchemaMigration],
) -> Result<usize> {
    writer.lock().await?;
    let before = applied(writer, dialect).await?.len();
    // Not `run`: the compiler cannot prove that its future is `Send`.
    migrator(dialect, migrations).run_direct(None, writer, false).await?;
    let after = applied(writer, dialect).await?.len();
    writer.unlock().await?;
    Ok(after - before)
}

/// Applied migrations; empty if their table is missing.
async fn applied(connection: &mut AnyConnection, dialect: SqlDialect) -> Result<Vec<i64>> {
    let exists = match dialect {
        SqlDialect::Sqlite => "SELECT name FROM sqlite_schema WHERE name = $1",
        SqlDialect::Postgres => "SELECT 'there' AS name WHERE to_regclass($1) IS NOT NULL",
    };
    if sqlx::query(exists).bind(TABLE).fetch_all(&mut *connection).await?.is_empty() {
        return Ok(Vec::new());
    }
    let applied = connection.list_applied_migrations(TABLE).await?;
    Ok(applied.into_iter().map(|migration| migration.version).collect())
}

fn migrator(dialect: SqlDialect, migrations: &'static [SchemaMigration]) -> Migrator {
    let migrations = migrations.iter().map(|(version, name, text)| {
        let text = AssertSqlSafe(dialect.render(text)).into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, text, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // The caller holds the lock.
    migrator.set_locking(false);
    migrator
}
