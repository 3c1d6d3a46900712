//! The service.

pub mod body;
pub mod error;
pub mod request_id;
