//! Failures of a database, provoked on purpose, and checks of every statement.

mod contention;
mod plans;
mod rules;
mod severed;
