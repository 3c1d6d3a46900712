//! What runs behind the acts of the service: workers of jobs and webhooks, uploads, meters, nodes.
//!
//! Nothing here knows callers, requests or acts. Each part takes the parts that it uses; `probity-service` puts them together.

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
