//! Integration tests of the engine.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod conversation;
mod dialing;
mod egress;
mod evil;
mod hostile_dns;
mod hostile_smtp;
mod limits;
mod lock_step;
mod name_server;
mod real_net;
mod schedule;
mod sharing;
mod simulation;
mod snapshot;
mod stories;
mod tls;
mod world;
