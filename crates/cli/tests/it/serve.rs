//! `probity serve` as a process: killed, stopped, run beside others, deprived of its database or disk, and attacked.

#![expect(clippy::disallowed_methods, reason = "clients on loopback, which measure how long the program takes")]
#![expect(clippy::print_stdout, reason = "what was counted, shown where a test fails or where it is asked for")]

mod account;
mod backup;
mod beside;
mod client;
mod clocks;
mod descriptors;
mod disk;
mod ending;
mod erasing;
mod first_start;
mod jobs;
mod killed;
mod lists;
mod log;
mod moving;
mod node;
mod nodes;
mod roles;
mod settings;
mod siege;
mod suppressions;
mod temporary;
mod traffic;
mod uploading;
mod users;
mod webhooks;
mod without_postgresql;
mod workbooks;
