//! Who calls, whether they may, and that a POST takes effect once.

pub(crate) mod auth;
pub(crate) mod idempotency;
