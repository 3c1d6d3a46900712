//! What a customer is to Probity, as a pure crate: names, rights, money and settings, beside what `probity-mail` says of mail.
//!
//! Everything here is a function of its arguments, as in `probity-mail`: no sockets, no clock, no randomness.
//!
//! [`id`] (identifiers), [`mod@name`] (what people may call things), [`api_key`], [`scope`] and [`role`] (who may ask what),
//! [`credits`] and [`plans`] (what an answer costs, how balances move, what a customer may have), [`overrides`] and
//! [`suppression`] (what an organization changes in the verdicts of its batches), [`block`] (how the addresses of a job are
//! kept), [`webhook`] (what customers' servers can be told of), [`connections`] (what is done to contacts of a platform),
//! [`reports`] (when which report is mailed), [`language`] (in which we write to whom) and [`outcome`] (what became of mail that a
//! customer sent).

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
