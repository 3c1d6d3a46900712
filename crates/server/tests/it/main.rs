//! The service from outside: over sockets, as clients and attackers meet it, and in process.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod bodies;
mod envelope;
mod limits;
mod logs;
mod openapi;
mod sandbox;
mod served;
mod shutdown;
