//! Activity of an account, and the depths of its queues.

pub mod breakdown;
pub mod changes;
pub mod counts;
pub mod pending;
pub mod reports;
pub mod requests;
pub mod timeline;
