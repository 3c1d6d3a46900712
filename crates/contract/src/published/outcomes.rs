//! Types of outcomes of mail: reports, and sources of events.

pub mod report;
pub mod sources;
