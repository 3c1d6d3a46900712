//! Lists on display: their progress, the users who watch it, searches, and rows as pages and files.

pub mod progress;
pub mod rows;
pub mod search;
pub mod searches;
pub mod watch;
