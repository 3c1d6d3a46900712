//! What an operator asks of a running service: its log, its metrics, and whether it is ready.

pub mod health;
pub mod log;
pub mod metrics;
