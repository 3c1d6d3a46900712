//! Shared by the benchmarks: the program under test, a client for it, and the simulated internet.
//!
//! The programs are in `src/bin`; docs/performance.md lists their figures.

pub mod client;
pub mod load;
pub mod place;
pub mod process;
pub mod program;
pub mod world;
