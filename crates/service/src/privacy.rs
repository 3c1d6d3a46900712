//! Addresses that must not be kept or verified: erasures and suppression lists.

pub mod erasures;
pub mod suppressions;
pub mod traces;
