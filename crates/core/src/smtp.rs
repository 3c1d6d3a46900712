//! SMTP as a client that asks and never sends: replies ([`reply`]) and one connection as a state machine ([`session`]).

pub mod reply;
pub mod session;
