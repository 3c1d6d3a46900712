//! API handlers, one module per resource. Their JSON types are in `crates/contract/src/published`.
//!
//! A resource has the same name here, in a folder of `crates/store/src` and in `web/app/screens`. Its acts have the same name in
//! a folder of `crates/service/src`. The exceptions:
//!
//! | Resource | `crates/http/src`, `crates/service/src` | `crates/store/src` | `web/app/screens` |
//! |---|---|---|---|
//! | own profile, password, sessions | `api/account`, `person` | `accounts/users/profile`, `accounts/people` | `account`, `sign-in`, `link` |
//! | organization | `api/organization` | `accounts/organization`, `accounts/settings`, `privacy/suppressions` | `settings` |
//! | running lists | `api/batch`, `dashboard` | `jobs` | `jobs` |
//! | deliveries | `webhooks`, `api/webhooks/deliveries`, `api/webhooks/callback_secret` | `webhooks/outbox` | `webhooks` |
//! | credits | `meter`, `api/organization`, `api/reports` | `credits`, `credits/usage` | `overview`, `reports` |
//!
//! In tables, `account` is the credit account of an organization, not a user's.

pub mod account;
pub(crate) mod batch;
pub mod check_key;
pub(crate) mod connections;
pub(crate) mod erasures;
pub(crate) mod jobs;
pub mod keys;
pub mod organization;
pub(crate) mod outcomes;
pub(crate) mod reports;
pub(crate) mod timeline;
pub mod users;
pub(crate) mod verify;
pub(crate) mod webhooks;
