//! The store against both databases: SQLite always, PostgreSQL where its programs are found.
#![expect(unreachable_pub, reason = "a test's modules are its own")]

mod credits;
mod databases;
mod facts;
mod gone;
mod idempotency;
mod instance;
mod limits;
mod opening;
mod usage;
