//! Customers as a pure crate: names, permissions, credits and settings. `probity-mail` has the mail side.
//!
//! As in `probity-mail`, everything is a function of its arguments: no sockets, no clock, no randomness.
//!
//! - [`id`], [`mod@name`]: identifiers, and names that users choose.
//! - [`api_key`], [`scope`], [`role`]: permissions.
//! - [`credits`], [`plans`]: prices, balances and plans.
//! - [`overrides`], [`suppression`]: an organization's changes to verdicts of its batches.
//! - [`block`]: storage of a job's addresses and results.
//! - [`webhook`]: events for customers' servers.
//! - [`connections`]: actions on contacts of a platform.
//! - [`reports`], [`language`]: reports by email, and the language of mail.
//! - [`outcome`]: outcomes of mail that customers sent.

#![warn(missing_docs)]

pub mod api_key;
pub mod block;
pub mod connections;
pub mod credits;
pub mod id;
pub mod name;
pub mod outcome;
pub mod overrides;
mod people;
pub mod plans;
pub mod reports;
pub mod scope;
pub mod suppression;
pub mod webhook;

pub use people::{language, role};
