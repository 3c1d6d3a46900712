//! API handlers, one module per resource. Their JSON types are in `crates/service/src/published`.
//!
//! A resource has the same name here, in `crates/store/src` and in `web/app/screens`. The worker behind it, if any, has the name
//! again in `crates/service/src`. The exceptions:
//!
//! | Resource | `crates/http/src`, `crates/service/src` | `crates/store/src` | `web/app/screens` |
//! |---|---|---|---|
//! | own profile, password, sessions | `api/account`, `person` | `users/profile`, `passwords`, `second_factor`, `sessions` | `account`, `sign-in`, `link` |
//! | organization | `api/organization` | `organization`, `settings`, `suppressions` | `settings` |
//! | running lists | `api/batch`, `dashboard` | `jobs` | `jobs` |
//! | deliveries | `webhooks`, `api/webhooks/deliveries`, `api/callback_secret` | `outbox` | `webhooks` |
//! | credits | `meter`, `api/organization`, `api/reports` | `credits`, `usage` | `overview`, `reports` |
//!
//! In `store`, an account is the credit account of an organization, not a user's.

pub mod account;
pub(crate) mod batch;
pub mod callback_secret;
pub mod check_key;
pub(crate) mod erasures;
pub(crate) mod jobs;
pub mod keys;
pub mod organization;
pub(crate) mod reports;
pub(crate) mod timeline;
pub mod users;
pub(crate) mod verify;
pub(crate) mod webhooks;
