//! Types of the published contract: requests, responses, errors and pages.
//!
//! The API, the dashboard and the widget all use these types, and the OpenAPI documents are generated from them. The types only
//! parse, validate and serialize their own fields.

pub mod asked_page;
pub mod error;
pub mod merge_patch;
pub mod page;
pub mod parameters;
pub mod published;
pub mod query;
pub mod request_id;
pub mod schema;
pub mod timestamp;
