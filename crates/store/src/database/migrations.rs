//! Migrations of both databases. Released migrations never change.

use crate::db::SchemaMigration;

pub(super) const MIGRATIONS: &[SchemaMigration] = &[
    (57, "schema", include_str!("../../migrations/0057_schema.sql")),
    (58, "doubt", include_str!("../../migrations/0058_doubt.sql")),
    (59, "letters", include_str!("../../migrations/0059_letters.sql")),
];
