//! Accounts: organizations, their settings, API keys and team members.

pub mod account;
mod check_key;
pub mod first_steps;
pub mod key_changes;
pub mod keys;
pub mod organization;
pub mod people;
mod power;
pub mod settings;
pub mod unsubscribe;
pub mod users;
