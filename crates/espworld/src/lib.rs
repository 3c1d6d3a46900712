//! Simulated email platforms on loopback.
//!
//! An [`EspWorld`] is an HTTP server that imitates a platform with one account: lists, contacts with their states,
//! tags, fields and webhooks. It refuses what the platform refuses, counts calls against the platform's rate limits,
//! disturbs calls by seed ([`EspFaults`]), and records every call and every effect. [`judge`] then reports unread contacts
//! and repeated effects.
//!
//! Under a virtual clock, an hour passes instantly. `cargo run -p probity-espworld -- ghost` runs a world by hand, with the
//! machine's clock.

mod account;
mod call;
mod clock;
mod desk;
mod faults;
pub mod judge;
mod ledger;
mod limits;
mod options;
mod reply;
mod server;
mod vendor;
mod world;

pub use account::{EspAccount, EspContact, EspEffect, EspEffectKind, EspField, EspHook, EspList, EspState, EspTag};
pub use clock::EspClock;
pub use faults::{EspFault, EspFaults};
pub use ledger::{EspLedger, EspRecord};
pub use options::{EPOCH_MS, EspOptions};
pub use vendor::{EspNotice, EspVendor};
pub use world::{EspSnapshot, EspWorld};
