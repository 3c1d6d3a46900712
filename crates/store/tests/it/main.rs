//! The store against both databases: SQLite always, PostgreSQL where its programs are found.
mod credits;
mod opening;
