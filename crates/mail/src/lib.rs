//! What mail is to Probity, as a pure crate: addresses, replies, sessions, plans and verdicts.
//!
//! Everything here is a function of its arguments: no sockets, no clock, no randomness, no threads and no iteration over
//! hash maps, so that a simulation can replay a run exactly and so that tests and fuzz targets take seconds. The shell
//! around it is `probity-engine`; it owns sockets, clocks and caches, performs one step and reports back.
//!
//! A tour in the order in which an address travels: [`address`] and [`domain`] (text to a parsed address), [`facts`]
//! (what lists and models say of it), [`dns`] (who takes its mail), [`plan`] and [`smtp`] (how to ask them),
//! [`classify`] (what a reply means) and [`verdict`] (what we say in the end).
//!
//! [`bounce`] reads mail that came back by the same rules.
//! And what others stand on as well: [`limits`] (token buckets), [`named!`] (values with names), [`rng`] (seeded
//! numbers) and [`time`] (days and months).

#![warn(missing_docs)]

pub mod address;
pub mod classify;
pub mod dns;
pub mod domain;
pub mod facts;
pub mod limits;
pub mod named;
pub mod plan;
pub mod policy;
pub mod rng;
pub mod smtp;
pub mod spf;
pub mod time;
pub mod verdict;

pub use classify::bounce;
