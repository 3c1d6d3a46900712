//! Commands that operate an installation: start it, check and migrate it, back it up, move it, change its master key.
//!
//! They print; [`crate::service`] does the work.

pub(crate) mod backup;
pub(crate) mod health;
pub(crate) mod master_key;
pub(crate) mod moving;
pub(crate) mod serve;
