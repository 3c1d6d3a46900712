//! What a customer is to Probity, as a pure crate: names, rights, money and settings, beside what `probity-mail` says of mail.
//!
//! Everything here is a function of its arguments, as in `probity-mail`: no sockets, no clock, no randomness.
//!
//! [`id`] (identifiers), [`mod@name`] (what people may call things), [`api_key`], [`scope`] and [`role`] (who may ask what),
//! [`credits`] and [`plans`] (what an answer costs, how balances move, what a customer may have), [`overrides`] and
//! [`suppression`] (what an organization changes in the verdicts of its batches), [`block`] (how the addresses of a job are
//! kept) and [`webhook`] (what customers' servers can be told of).

#![warn(missing_docs)]

pub mod api_key;
pub mod block;
pub mod credits;
pub mod id;
pub mod name;
pub mod overrides;
pub mod plans;
pub mod role;
pub mod scope;
pub mod suppression;
pub mod webhook;
