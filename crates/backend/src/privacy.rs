//! Addresses that must not be read or kept: erasures, suppression lists, and encrypted bodies.

pub mod earlier;
pub mod erasures;
pub mod mailbox;
pub mod suppressions;
