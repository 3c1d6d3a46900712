//! Callers of acts: identification, admission, request bodies, and idempotency.

pub mod admission;
pub mod caller;
pub mod incoming;
pub mod once;
