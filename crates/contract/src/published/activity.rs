//! Types about the activity of an account: its timeline and its reports.

pub mod breakdown;
pub mod reports;
pub mod timeline;
