//! Migrations: one set of files for both databases, each applied once, in order.
//!
//! The library keeps the list of applied migrations, with checksums, and a lock, so that nodes that start together wait for the
//! first. A database newer than this program is rejected.
//!
//! Versions below the first migration of this program are parts of it: earlier programs applied it in pieces, with the same result. A
//! database that records the first migration has it, whatever its checksum; one that records only parts is rejected.

use sqlx::migrate::{Migrate as _, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AssertSqlSafe, SqlSafeStr as _};

use crate::Store;
use crate::error::{Result, StoreError};
use crate::sql::dialect::SqlDialect;

/// Number, name and text of a migration. Those that were released never change.
pub type SchemaMigration = (i64, &'static str, &'static str);

/// Table in which the library records applied migrations.
const TABLE: &str = "_sqlx_migrations";

const TOO_OLD: &str =
    "the database is too old for this version of the program; start the release before this one on it once";

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
        if unknown(&applied, self.inner.migrations).is_some() {
            return Ok(SchemaState::Ahead);
        }
        match missing(&applied, self.inner.migrations) {
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
    let applied = applied(writer, dialect).await?;
    if let Some(version) = unknown(&applied, migrations) {
        let told = format!("a newer version of this program has changed the database (migration {version})");
        return Err(StoreError::corrupt(told));
    }
    let to_run = match migrations {
        [(first, ..), later @ ..] if applied.contains(first) => later,
        all if applied.is_empty() => all,
        _ => return Err(StoreError::corrupt(TOO_OLD)),
    };
    // Not `run`: the compiler cannot prove that its future is `Send`.
    migrator(dialect, to_run).run_direct(None, writer, false).await?;
    writer.unlock().await?;
    Ok(missing(&applied, migrations))
}

/// An applied migration that this program does not know.
fn unknown(applied: &[i64], migrations: &[SchemaMigration]) -> Option<i64> {
    let first = migrations.first().map_or(i64::MIN, |(first, ..)| *first);
    let is_known = |version: i64| version < first || migrations.iter().any(|(known, ..)| *known == version);
    applied.iter().copied().find(|version| !is_known(*version))
}

/// Number of migrations that are not applied.
fn missing(applied: &[i64], migrations: &[SchemaMigration]) -> usize {
    migrations.iter().filter(|(version, ..)| !applied.contains(version)).count()
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
    // The caller holds the lock, and has looked for unknown migrations.
    migrator.set_locking(false);
    migrator.set_ignore_missing(true);
    migrator
}
