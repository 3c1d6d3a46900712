//! Where requests come in: sockets, what all responses have in common, and the access log.

pub(crate) mod access;
pub mod listen;
pub mod peer;
pub mod shell;
