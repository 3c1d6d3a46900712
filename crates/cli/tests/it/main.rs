//! The real program, run as users run it: output, exit codes, and behavior when killed or out of disk space.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene may panic")]

mod batch;
mod config;
mod connections;
mod connectors;
mod crash;
mod health;
mod manual;
mod platforms;
mod program;
mod sandbox;
mod serve;
mod verify;
