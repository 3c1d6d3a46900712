//! SMTP as a client that asks and never sends: replies ([`reply`]) and one connection as a state machine ([`session`]).
//!
//! `capabilities`, `command`, `flight` and `deadline` are parts of the session; their public types are found there.

mod capabilities;
mod command;
mod deadline;
mod flight;
pub mod reply;
pub mod session;
