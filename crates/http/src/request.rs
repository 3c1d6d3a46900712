//! Request bodies for handlers.

pub mod body;
pub(crate) mod submission;
