//! `probity serve` as a process: killed, stopped, run beside others, deprived of its database or disk, and attacked.

#![expect(clippy::disallowed_methods, reason = "clients on loopback, which measure how long the program takes")]
#![expect(clippy::print_stdout, reason = "what was counted, shown where a test fails or where it is asked for")]

mod admin;
pub(crate) mod bench;
mod beside;
mod failures;
mod first_start;
pub(crate) mod jobs;
mod log;
mod mute;
mod nodes;
mod roles;
mod uploading;
mod workbooks;
