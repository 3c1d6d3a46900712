//! Identity and permissions of callers, and idempotency of POSTs.

pub(crate) mod auth;
pub(crate) mod idempotency;
