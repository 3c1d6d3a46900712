//! Accounts of customers: keys and their limits, the members of a team, sign-in, and email to users.

pub mod keyring;
pub mod limits;
pub mod links;
pub mod mail;
pub mod minting;
pub mod people;
pub mod power;
pub mod requests;
pub mod users;
