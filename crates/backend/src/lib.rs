//! Background work behind the service's acts: workers of jobs and webhooks, uploads, meters, nodes.
//!
//! This crate has no callers, requests or acts. Each part takes its dependencies; `probity-service` assembles them.

pub mod connections;
pub mod copies;
pub mod jobs;
pub mod lists;
pub mod meter;
pub mod nodes;
pub mod outcomes;
pub mod privacy;
pub mod uploads;
pub mod webhooks;
pub mod widget;

pub use probity_outbound as outbound;
