//! Callers of acts: identification, admission, request bodies, checks of values, and idempotency.

pub mod admission;
pub mod caller;
pub(crate) mod given;
pub mod incoming;
pub mod once;
