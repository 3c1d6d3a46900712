//! The API's resources, as the specification says they answer.

mod account;
mod batch;
mod check_key;
mod jobs;
mod keys;
mod organization;
mod reports;
mod settings;
mod suppressions;
mod timeline;
pub(crate) mod users;
mod verify;
mod webhooks;
