//! Display of lists: progress, users who follow it, searches, and rows as pages and files.

pub mod progress;
pub mod rows;
pub mod search;
pub mod searches;
pub mod watch;
