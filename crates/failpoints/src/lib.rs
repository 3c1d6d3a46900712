//! Failpoints: places where a test can make a statement or a commit fail, or end the process.
//!
//! `probity-store` passes them if its feature `failpoints` is on. Only tests turn it on; the program that is installed does not
//! contain this crate.
//!
//! Each statement has two, before and after it, under its full name such as `jobs::work::ADD_PART`. Each commit of a
//! transaction has two, named after the transaction's last statement: `commit/jobs::close::CLOSE`. A test in the process arms
//! those of a store ([`Failpoints::arm`]), or traces the points passed. The environment arms a whole process:
//!
//! ```text
//! PROBITY_FAILPOINT=jobs::work::ADD_PART:after:3:kill,commit/outbox::RECORD:before:1:stop
//! ```
//!
//! The fields are name, moment, number of the pass, and [`FailpointAction`]. It applies to each store that the process opens. An
//! unknown statement name is rejected, so that renaming a statement does not silently disarm a test.

mod failpoint;
mod registry;

pub use failpoint::{
    ArmedFailpoint, Failpoint, FailpointAction, FailpointError, FailpointSide, UnreadableFailpoint, VARIABLE,
};
pub use registry::Failpoints;
