//! Types about addresses that must not be kept or verified.

pub mod erasures;
pub mod suppressions;
