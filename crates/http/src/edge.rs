//! Edge of the service: sockets, the common parts of all responses, and the access log.

pub(crate) mod access;
pub mod listen;
pub mod peer;
pub mod shell;
