//! Migrations: one set of files for both databases, each applied once, in order.
//!
//! The library keeps the list of applied migrations, with checksums, and a lock, so that nodes that start together wait for the
//! first. A database newer than this program is rejected.

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
        let migrated = migrate(&mut writer, self.dialect()).await;
        if migrated.is_err() {
            // The lock ends with the connection.
            let _ = writer.close().await;
        }
        migrated
    }

    /// Compares the schema with this program.
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

/// Migrates under one lock, including the library's table: PostgreSQL fails all but one of several concurrent creations of a table,
/// even with `IF NOT EXISTS`.
async fn migrate(writer: &mut AnyConnection, dialect: Dialect) -> Result<usize> {
    writer.lock().await?;
    let before = applied(writer, dialect).await?.len();
    // Not `run`: the compiler cannot prove that its future is `Send`.
    migrator(dialect).run_direct(None, writer, false).await?;
    let after = applied(writer, dialect).await?.len();
    writer.unlock().await?;
    Ok(after - before)
}

/// Applied migrations; empty if their table is missing.
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
