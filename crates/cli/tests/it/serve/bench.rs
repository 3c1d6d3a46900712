//! What the tests of processes share: installations with their nodes, clients, their traffic, and the ledger afterwards.

pub(crate) mod account;
pub(crate) mod client;
pub(crate) mod node;
pub(super) mod traffic;
