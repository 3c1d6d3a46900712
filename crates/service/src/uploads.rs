//! Uploaded lists: receiving, choosing a column, forecasting, starting. Stored rows are in [`probity_backend::uploads`].

pub mod acts;
pub mod adding;
pub mod receive;
pub mod start;
