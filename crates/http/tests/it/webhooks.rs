//! Callbacks against receivers that are honest, slow, or hostile, on loopback with the guard opened for it.

mod delivery;
mod fleet;
mod guard;
mod health;
pub(crate) mod independent;
pub(crate) mod receivers;
mod secret;
mod sending;
mod shared;
