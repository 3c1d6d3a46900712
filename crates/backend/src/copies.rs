//! Whole installations, copied: backups, and the move to PostgreSQL.

pub mod backup;
pub mod moving;
