//! Webhooks of connections: platforms report new contacts, so that the next poll of `instafloss` need not wait for its time.
//!
//! An event is believed only as far as it makes a poll due ([`HookBook`]): the poll reads the contacts from the platform. So
//! repeated, forged, lost and reordered events do no harm, our own changes find nothing new, and a flood costs one poll every few
//! seconds. Polls keep their interval, for contacts without an event.
//!
//! [`HookWork`] registers our URL at the platform, renews the registration if a day has passed without an event, and removes it
//! when polls are switched off. [`HookedPolls`] starts the polls.

mod book;
mod keys;
mod polls;
mod removal;
mod work;

pub use book::{HookBook, KnownHook};
pub use keys::{HookCall, HookCallMeaning, HookKeys};
pub use polls::HookedPolls;
pub use removal::remove_registrations;
pub use work::HookWork;

use probity_store::connections::hooks::PollHaste;

/// How soon an event makes a poll due. The first second gathers events that come together.
pub const HASTE: PollHaste = PollHaste { after_ms: 1_000, apart_ms: 10_000 };

#[cfg(test)]
mod tests;
