//! Display of lists: progress, searches, and results as pages and files.

pub mod catalogue;
pub mod domains;
pub mod download;
pub mod feed;
mod filter;
pub mod lookup;
pub mod origin;
pub mod progress;
pub mod providers;
pub mod results;
pub mod sharing;
pub mod slice;
pub mod trial;
pub(crate) mod walk;
