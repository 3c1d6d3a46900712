//! Migrations: one set of files for both databases, applied in order, each once.
//!
//! The library keeps the list of what was applied, with checksums, and a lock, so that several nodes that start at once wait
//! for the first. A database that is newer than this program is refused.

use sqlx::migrate::{Migrate as _, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AssertSqlSafe, SqlSafeStr as _};

use super::Store;
use super::dialect::Dialect;
use crate::error::Result;

/// Number, name and text of each migration.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "accounts", include_str!("../../migrations/0001_accounts.sql")),
    (2, "jobs", include_str!("../../migrations/0002_jobs.sql")),
    (3, "outbox", include_str!("../../migrations/0003_outbox.sql")),
    (4, "nodes", include_str!("../../migrations/0004_nodes.sql")),
    (5, "settings", include_str!("../../migrations/0005_settings.sql")),
    (6, "keeping", include_str!("../../migrations/0006_keeping.sql")),
    (7, "team", include_str!("../../migrations/0007_team.sql")),
    (8, "signin", include_str!("../../migrations/0008_signin.sql")),
    (9, "webhooks", include_str!("../../migrations/0009_webhooks.sql")),
    (10, "test_messages", include_str!("../../migrations/0010_test_messages.sql")),
    (11, "suppressions", include_str!("../../migrations/0011_suppressions.sql")),
    (12, "plans", include_str!("../../migrations/0012_plans.sql")),
    (13, "sealing", include_str!("../../migrations/0013_sealing.sql")),
    (14, "widget", include_str!("../../migrations/0014_widget.sql")),
    (15, "uploads", include_str!("../../migrations/0015_uploads.sql")),
    (16, "results", include_str!("../../migrations/0016_results.sql")),
    (18, "attempts", include_str!("../../migrations/0018_attempts.sql")),
    (19, "erasure", include_str!("../../migrations/0019_erasure.sql")),
    (20, "upkeep", include_str!("../../migrations/0020_upkeep.sql")),
    (21, "timeline", include_str!("../../migrations/0021_timeline.sql")),
    (23, "unlimited", include_str!("../../migrations/0023_unlimited.sql")),
    (24, "retention", include_str!("../../migrations/0024_retention.sql")),
    (25, "clock", include_str!("../../migrations/0025_clock.sql")),
    (26, "line", include_str!("../../migrations/0026_line.sql")),
];

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
    /// Applies what is missing, and says how many migrations that were. Waits for another node that is doing it.
    pub async fn migrate(&self) -> Result<usize> {
        let mut writer = self.inner.writers.acquire().await?;
        let migrated = migrate(&mut writer, self.dialect()).await;
        if migrated.is_err() {
            // The lock ends with the connection.
            let _ = writer.close().await;
        }
        migrated
    }

    /// How the tables compare with this program.
    pub async fn schema_state(&self) -> Result<SchemaState> {
        let applied = applied(&mut *self.inner.readers.acquire().await?, self.dialect()).await?;
        if applied.iter().any(|version| !MIGRATIONS.iter().any(|(known, ..)| known == version)) {
            return Ok(SchemaState::Ahead);
        }
        match MIGRATIONS.len() - applied.len() {
            0 => Ok(SchemaState::Current),
            missing => Ok(SchemaState::Behind(missing)),
        }
    }
}

/// Everything under one lock, the library's table included: PostgreSQL lets only one of several that make the same table
/// at once succeed, even with `IF NOT EXISTS`.
async fn migrate(writer: &mut AnyConnection, dialect: Dialect) -> Result<usize> {
    writer.lock().await?;
    let before = applied(writer, dialect).await?.len();
    // Not `run`, whose future the compiler cannot prove to be `Send`.
    migrator(dialect).run_direct(None, writer, false).await?;
    let after = applied(writer, dialect).await?.len();
    writer.unlock().await?;
    Ok(after - before)
}

/// What was applied: nothing where the table for it is missing.
async fn applied(connection: &mut AnyConnection, dialect: Dialect) -> Result<Vec<i64>> {
    let exists = match dialect {
        Dialect::Sqlite => "SELECT name FROM sqlite_schema WHERE name = $1",
        Dialect::Postgres => "SELECT 'there' AS name WHERE to_regclass($1) IS NOT NULL",
    };
    if sqlx::query(exists).bind(TABLE).fetch_all(&mut *connection).await?.is_empty() {
        return Ok(Vec::new());
    }
    let applied = connection.list_applied_migrations(TABLE).await?;
    Ok(applied.into_iter().map(|migration| migration.version).collect())
}

fn migrator(dialect: Dialect) -> Migrator {
    let migrations = MIGRATIONS.iter().map(|(version, name, text)| {
        let text = AssertSqlSafe(dialect.render(text)).into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, text, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // The caller holds the lock.
    migrator.set_locking(false);
    migrator
}
