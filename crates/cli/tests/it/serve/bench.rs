//! Shared parts of the process tests: installations with their nodes, clients, their traffic, and the ledger afterwards.

pub(crate) mod account;
pub(crate) mod client;
pub(crate) mod node;
pub(super) mod traffic;
