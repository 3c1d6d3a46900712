//! The store against both databases: SQLite always, PostgreSQL where its programs are found.
#![expect(clippy::unwrap_used, reason = "what tests call may panic as they do")]

mod accounts;
mod credits;
mod databases;
mod events;
mod facts;
#[cfg(debug_assertions)]
mod failpoints;
mod gone;
mod idempotency;
mod instance;
mod jobs;
mod limits;
mod model;
mod moving;
mod nodes;
mod opening;
mod outbox;
mod people;
mod settings;
mod shrinking;
mod team;
mod usage;
mod wake;
mod webhooks;
