//! What Probity does for its customers and operators, without HTTP: accounts and credits, batch jobs, webhooks, people, nodes.
//!
//! A live call pays through [`meter`]; the rules of a team are in [`users`], its one-time links in [`links`]. [`jobs`],
//! [`webhooks`], [`mail`] and [`upkeep`] work behind the faces, as far as the node has their [`roles`]; [`nodes`] is a node among
//! others. [`uploads`] and [`lists`] are what people put up and look at. [`instance`] is a database with its keys, [`sealing`] the
//! master key, [`admin`] what operators do. [`published`] holds the types that the API shows and takes.

pub mod admin;
pub mod app;
pub mod backup;
pub mod bells;
pub mod egress;
pub mod erasures;
pub mod error;
pub mod facts;
pub mod instance;
pub mod jobs;
pub mod keyring;
pub mod limits;
pub mod links;
pub mod lists;
pub mod mail;
pub mod mailbox;
pub mod merge_patch;
pub mod meter;
pub mod minting;
pub mod moving;
pub mod nodes;
pub mod ops;
pub mod page;
pub mod people;
pub mod plans;
pub mod published;
pub mod query;
pub mod random;
pub mod request_id;
pub mod roles;
pub mod schema;
pub mod sealing;
pub mod secrets;
pub mod subscriptions;
pub mod suppressions;
pub mod timestamp;
pub mod upkeep;
pub mod uploads;
pub mod users;
pub mod verifier;
pub mod webhooks;
pub mod widget;

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
