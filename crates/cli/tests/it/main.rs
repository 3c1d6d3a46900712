//! The real program, run as users run it: its output, its exit codes, and what it does when it is killed or the disk is full.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene may panic")]

mod batch;
mod config;
mod crash;
mod health;
mod manual;
mod program;
mod sandbox;
mod serve;
mod verify;
