//! What the API publishes: the types of bodies and answers, with their descriptions in its document.

pub mod account;
pub mod batch;
pub mod callback_secret;
pub mod check_key;
pub mod erasures;
pub mod example;
pub mod jobs;
pub mod keys;
pub mod organization;
pub mod reports;
pub mod settings;
pub mod suppressions;
pub mod timeline;
pub mod users;
pub mod verdict;
pub mod webhooks;
pub mod whole;
