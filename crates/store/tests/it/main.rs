//! The store against both databases: SQLite always, PostgreSQL where its programs are found.
#![expect(clippy::unwrap_used, reason = "what tests call may panic as they do")]

mod accounts;
mod credits;
mod databases;
mod erasures;
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
mod organizations;
mod outbox;
mod people;
mod plans;
mod settings;
mod shrinking;
mod suppressions;
mod upgrading;
mod usage;
mod users;
mod wake;
mod webhooks;
mod widget;
