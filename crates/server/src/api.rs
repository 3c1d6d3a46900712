//! What the API shows and takes, one module a resource.

pub mod account;
pub(crate) mod batch;
pub mod callback_secret;
pub mod check_key;
pub(crate) mod erasures;
pub(crate) mod jobs;
pub mod keys;
pub(crate) mod merge_patch;
pub mod organization;
pub(crate) mod reports;
pub(crate) mod timeline;
pub mod timestamp;
pub mod users;
pub(crate) mod verify;
pub(crate) mod webhooks;
pub mod whole;
