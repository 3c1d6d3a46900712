//! What the measurements share: the program under test, a client for it, and the simulated internet.
//!
//! The programs themselves are in `src/bin`; what they print is in docs/performance.md.

pub mod client;
pub mod load;
pub mod place;
pub mod process;
pub mod program;
pub mod world;
