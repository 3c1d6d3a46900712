//! Bodies of requests, as handlers take them.

pub mod body;
pub(crate) mod submission;
