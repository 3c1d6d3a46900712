//! Types about accounts: organizations, settings, keys, users, sign-in and single sign-on.

pub mod account;
pub mod check_key;
pub mod keys;
pub mod organization;
pub mod people;
pub mod settings;
pub mod sso;
pub mod users;
