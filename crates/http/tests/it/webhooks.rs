//! Tests of webhooks with honest, slow and hostile receivers on loopback, which the guard allows here.

mod delivery;
mod fleet;
mod guard;
mod health;
pub(crate) mod independent;
pub(crate) mod receivers;
mod secret;
mod sending;
mod shared;
