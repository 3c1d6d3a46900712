//! The store against both databases: SQLite always, PostgreSQL if it is installed.
#![expect(clippy::unwrap_used, reason = "what tests call may panic as they do")]

mod accounts;
mod connections;
mod credits;
mod databases;
mod erasures;
mod events;
mod facts;
mod failpoints;
mod gone;
mod idempotency;
mod instance;
mod jobs;
mod letters;
mod limits;
mod model;
mod moving;
mod nodes;
mod opening;
mod organizations;
mod outbox;
mod outcomes;
mod people;
mod plans;
mod requests;
mod settings;
mod shrinking;
mod sso;
mod suppressions;
mod upgrading;
mod uploads;
mod usage;
mod users;
mod wake;
mod webhooks;
mod widget;
