//! Parts of a request, as handlers take them.

pub mod asking;
pub mod body;
pub mod path;
pub(crate) mod submission;
