//! Integration tests of the engine.

mod dialing;
mod egress;
mod name_server;
mod real_net;
mod tls;
