//! `probity serve` as a process, with what happens to processes: killed, stopped, run beside others, left without its
//! database or its disk, and besieged.

mod account;
mod beside;
mod client;
mod disk;
mod ending;
mod first_start;
mod killed;
mod node;
mod nodes;
mod siege;
mod traffic;
mod without_postgresql;
