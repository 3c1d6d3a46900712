//! The connectors against simulated platforms: whole scenarios, by seed.
#![expect(clippy::unwrap_used, reason = "in a test a panic is a failure")]

mod acting;
mod credentials;
mod driver;
mod hooks;
mod odd;
mod reading;
mod refusals;
mod rig;
mod throughput;
mod vendors;
mod wire;
