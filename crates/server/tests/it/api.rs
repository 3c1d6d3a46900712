//! The API's resources, as the specification says they answer.

mod account;
mod api_keys;
mod batch;
mod check_key;
mod jobs;
mod organization;
mod reports;
mod settings;
mod timeline;
pub(crate) mod users;
mod verify;
mod webhooks;
