//! The service: HTTP, accounts and credits, batch jobs, callbacks, operations.
//!
//! A request comes through `listen` and `shell` (what all answers have in common), `auth` (who calls, and whether they may) and
//! `idempotency` to a handler in `api`; `router` is the table of contents. `person` is how people come in, with a session in
//! the place of a key. A live call pays through `meter`; the rules of a team are in `users`, its one-time links in `links`. Behind
//! the routes work `jobs`, `webhooks`, `mail` and `upkeep`, as far as the node has their `roles`; `nodes` is a node among others.
//! `web` holds the dashboard's files, `uploads` the lists that people put up there, `widget` is what websites put beside their
//! fields. `instance` is a database with its keys, `sealing` the master key, `service` puts everything together, `admin` is
//! what operators do, `operator` their API, `desk` the routes of an organization as the command line asks them.

pub mod admin;
pub mod api;
pub mod app;
mod auth;
pub mod backup;
pub mod body;
mod dashboard;
pub mod desk;
pub mod egress;
pub mod erasures;
pub mod error;
pub mod facts;
mod idempotency;
pub mod instance;
pub mod jobs;
mod keyring;
mod limits;
pub mod links;
pub mod listen;
pub mod mail;
mod mailbox;
mod meter;
mod minting;
pub mod moving;
pub mod nodes;
pub mod openapi;
pub mod operator;
pub mod ops;
pub mod page;
pub mod path;
pub mod peer;
pub mod person;
mod plans;
pub mod query;
mod random;
pub mod request_id;
pub mod roles;
mod router;
pub mod sealing;
pub mod secrets;
pub mod service;
pub mod shell;
/// What the command line needs of the store; it reaches it through here.
pub mod store {
    pub use probity_store::audit::Discrepancy;
    pub use probity_store::erasures::Erasure;
    pub use probity_store::keys::Key;
    pub use probity_store::moving::{Copied, MoveError, Outcome};
    pub use probity_store::organization::{Org, OrgStatus};
    pub use probity_store::outbox::{Content, Logged, State, Tried};
    pub use probity_store::sealing::Sealing;
    pub use probity_store::sessions::{Lifetimes, Session};
    pub use probity_store::users::profile::Identity;
    pub use probity_store::users::{User, UserStatus};
    pub use probity_store::webhooks::Webhook;
    pub use probity_store::{Place, StoreConfig, StoreError};
}
mod submission;
mod subscriptions;
mod suppressions;
mod upkeep;
pub mod uploads;
mod users;
pub mod verifier;
mod web;
pub mod webhooks;
pub mod widget;
