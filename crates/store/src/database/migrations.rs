//! The migrations of both databases. Those that were released never change.

use crate::db::SchemaMigration;

pub(super) const MIGRATIONS: &[SchemaMigration] = &[(57, "schema", include_str!("../../migrations/0057_schema.sql"))];
