//! Who may come in: the pepper and its keys, keys of customers and their limits, sign-in, and email to users.
//!
//! Acts and other workers use it. It depends on none of them; the mail worker is told whether its node may work.

pub mod keyring;
pub mod limits;
pub mod links;
pub mod mail;
pub mod minting;
pub mod people;
pub mod requests;
pub mod secrets;
