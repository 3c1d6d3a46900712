//! Addresses that must not be read or kept: erasures, suppression lists, and encrypted bodies.

pub mod erasures;
pub mod sealing;
pub mod suppressions;

crate::db::statements! {
    [erasures, sealing, suppressions]
}
