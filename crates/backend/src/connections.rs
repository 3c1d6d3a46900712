//! Connections to email platforms: access to their accounts, and runs over their contacts.
//!
//! Requests go through [`Platforms`], within the egress guard and the account's rate limits, which all nodes share.

pub mod access;
pub(crate) mod effects;
pub mod hooks;
pub(crate) mod planning;
pub mod rows;
pub mod runs;
pub mod scheduling;
pub mod tokens;

pub use effects::kind_of;
pub use probity_connectors::HostAllowance;
pub use probity_outbound::platforms::{
    AccountBudget, CallCause, CallFault, CallTurn, NoGrant, PlatformConfig, Platforms, TEST_MAX_MS,
};
