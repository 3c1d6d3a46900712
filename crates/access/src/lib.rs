//! Who may come in: the pepper and its keys, keys of customers and their limits, members, sign-in, and email to users.
//!
//! Acts and workers stand on it. It knows neither them nor nodes.

pub mod keyring;
pub mod limits;
pub mod links;
pub mod mail;
pub mod minting;
pub mod people;
pub mod power;
pub mod requests;
pub mod secrets;
pub mod users;
