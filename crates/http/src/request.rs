//! Parts of a request, as handlers take them.

pub mod body;
pub(crate) mod submission;
