//! Everything that callers can do, without HTTP: one function per act.
//!
//! An act takes the shared state ([`app::App`]), a [`callers::caller::Caller`] and a published type. Faces bind acts and
//! never access the store. Workers, meters and nodes are in `probity-backend`, keys, sign-in and secrets in `probity-access`;
//! [`app::parts`] assembles them. If an act fails, nothing is left half done: its changes are one transaction, or a repetition
//! continues them.

pub mod accounts;
pub mod activity;
pub mod app;
pub mod callers;
pub mod connections;
pub mod jobs;
pub mod lists;
pub mod operator;
pub mod outcomes;
pub mod privacy;
pub mod uploads;
pub mod verify;
pub mod webhooks;
pub mod widget;

/// Types of the store for the command line, which does not depend on that crate.
pub mod store {
    pub use probity_store::accounts::keys::StoredKey;
    pub use probity_store::accounts::organization::OrgRecord;
    pub use probity_store::accounts::people::sessions::SessionLifetimes;
    pub use probity_store::accounts::users::profile::IdentityCheck;
    pub use probity_store::database::moving::{CopiedTable, MoveError, MoveOutcome};
    pub use probity_store::privacy::sealing::Sealing;
    pub use probity_store::webhooks::outbox::OutboxState;
    pub use probity_store::{DatabasePlace, StoreConfig, StoreError};
}
