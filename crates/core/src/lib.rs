//! The pure core of Probity.
//!
//! Everything here is a function of its arguments: no sockets, no clock, no randomness, no threads and no iteration over
//! hash maps, so that a simulation can replay a run exactly and so that tests and fuzz targets take seconds. The shell
//! around it is `probity-engine`; it owns sockets, clocks and caches, performs one step and reports back.
//!
//! A tour in the order in which an address travels: [`address`] and [`domain`] (text to a parsed address), [`facts`]
//! (what lists and models say of it), [`dns`] (who takes its mail), [`plan`] and [`smtp`] (how to ask them),
//! [`classify`] (what a reply means) and [`verdict`] (what we say in the end).
//!
//! And of the accounts that pay for it: [`id`] (names of things), [`api_key`], [`scope`] and [`role`] (who may ask what),
//! [`credits`] (what an answer costs and how balances move), [`overrides`] (what an organization changes in the verdicts of
//! its batches), [`block`] (how the addresses of a job are kept), [`webhook`] (what customers' servers can be told of),
//! [`mod@name`] (what people may call things) and [`time`] (days and months of usage).

pub mod address;
pub mod api_key;
pub mod block;
pub mod classify;
pub mod credits;
pub mod dns;
pub mod domain;
pub mod facts;
pub mod gibberish;
pub mod id;
pub mod limits;
pub mod lists;
pub mod name;
pub mod overrides;
pub mod plan;
pub mod plans;
pub mod policy;
pub mod rng;
pub mod role;
pub mod scope;
pub mod smtp;
pub mod spf;
pub mod suggest;
pub mod suppression;
pub mod time;
pub mod verdict;
pub mod webhook;
