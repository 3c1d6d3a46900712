//! The service.

pub mod api;
pub mod body;
pub mod error;
pub mod listen;
pub mod openapi;
pub mod page;
pub mod peer;
pub mod query;
pub mod request_id;
pub mod shell;
pub mod verifier;
