//! Failures of a database, provoked on purpose, and checks of every statement.

mod contention;
mod migrating;
mod plans;
mod rules;
mod severed;
