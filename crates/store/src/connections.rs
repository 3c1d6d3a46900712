//! Connections to email platforms, their keyword rules and their runs.
//!
//! A connection is created with a live or a test key, and only keys of that mode see it. A deleted one keeps its settings and
//! rules for a while, so that it can be reconnected, but no credentials.
//!
//! A run is a job whose addresses are read from a platform ([`runs`]). Each page of contacts becomes rows of the staged job
//! ([`contacts`]); the settlement of a row plans an action on its contacts ([`actions`]). Rows are locked in one order: job, run,
//! connection, action, hold, account. The row of a schedule is locked after its connection's, and before the new rows of the run
//! that it starts.

pub mod actions;
pub mod changes;
pub mod connection;
pub mod contacts;
pub mod hooks;
pub mod rules;
pub mod runs;
pub mod schedule;
pub mod tokens;

crate::db::statements! {
    [actions, changes, connection, contacts, hooks, rules, runs, schedule, tokens]
}
