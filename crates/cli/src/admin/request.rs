//! Requests of commands to the service.

use super::{
    Booking, Change, DeliveryState, ErasureWish, Fate, Identity, NewKey, OrgStatus, lists, reports, settings,
    suppressions, webhooks,
};

/// Requests that the API's own routes answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeskWish {
    Lists {
        wish: lists::Wish,
        /// Jobs of test keys instead of live keys.
        test: bool,
    },
    Settings(settings::Wish),
    /// Usage and timeline.
    Report(reports::Question),
    /// Finds the suppression lists that have an address.
    FindSuppression(String),
}

/// Request to the service. If an optional `org` is `None`, the only organization is meant ([`only`](super::only)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Answered with [`Answer::Orgs`](super::Answer::Orgs).
    CreateOrg {
        name: String,
        /// Plan name; `None` uses `credits.plan`.
        plan: Option<String>,
    },
    ListOrgs,
    /// Answered with [`Answer::Plans`](super::Answer::Plans).
    Plans,
    /// Answered with [`Answer::Org`](super::Answer::Org).
    ShowOrg {
        /// Organization ID.
        org: String,
    },
    /// Answered with [`Answer::Org`](super::Answer::Org).
    ChangeOrg {
        /// Organization ID.
        org: String,
        change: Change,
    },
    /// Suspends, pauses, bans, reviews or activates. Answered with the updated organization.
    SetStatus {
        /// Organization ID.
        org: String,
        status: OrgStatus,
        /// Reason, for operators.
        reason: Option<String>,
    },
    /// Answered with [`Answer::NewKey`](super::Answer::NewKey).
    CreateKey {
        /// `None`: the only organization.
        org: Option<String>,
        key: NewKey,
    },
    /// Includes revoked keys.
    ListKeys {
        /// `None`: the only organization.
        org: Option<String>,
    },
    /// Answered with the updated key.
    RevokeKey {
        /// Organization that must own the key; `None` for any.
        org: Option<String>,
        /// Key ID.
        key: String,
    },
    /// Answered with [`Answer::Balance`](super::Answer::Balance).
    Book(Booking),
    /// Answered with [`Answer::Balance`](super::Answer::Balance).
    Balance {
        /// `None`: the only organization.
        org: Option<String>,
    },
    /// Answered with [`Answer::Ledger`](super::Answer::Ledger).
    Ledger {
        /// `None`: the only organization.
        org: Option<String>,
        limit: u32,
    },
    /// Checks the ledger. Answered with [`Answer::Audit`](super::Answer::Audit).
    AuditCredits,
    /// Checks all invariants of the database. Answered with [`Answer::Audit`](super::Answer::Audit).
    Audit,
    /// Answered with [`Answer::Deliveries`](super::Answer::Deliveries).
    ListDeliveries {
        /// `None`: the only organization.
        org: Option<String>,
        state: Option<DeliveryState>,
        limit: u32,
    },
    /// Answered with [`Answer::Delivery`](super::Answer::Delivery).
    ShowDelivery {
        /// `None`: the only organization.
        org: Option<String>,
        delivery: String,
    },
    /// Answered with [`Answer::Deliveries`](super::Answer::Deliveries): the delivery after the change.
    ResendDelivery {
        /// `None`: the only organization.
        org: Option<String>,
        delivery: String,
    },
    /// Answered with [`Answer::Erasures`](super::Answer::Erasures).
    Erasures(ErasureWish),
    /// Answered with [`Answer::Webhooks`](super::Answer::Webhooks), a new secret with
    /// [`Answer::WebhookSecret`](super::Answer::WebhookSecret), a test with [`Answer::Deliveries`](super::Answer::Deliveries).
    Webhooks {
        /// `None`: the only organization.
        org: Option<String>,
        wish: webhooks::Wish,
    },
    /// Answered with [`Answer::Suppressions`](super::Answer::Suppressions), a change with
    /// [`Answer::SuppressionsChanged`](super::Answer::SuppressionsChanged).
    Suppressions {
        /// `None`: the only organization.
        org: Option<String>,
        wish: suppressions::Wish,
    },
    /// Requests to the routes of the API and the dashboard. Answered with [`Answer::Told`](super::Answer::Told).
    Desk {
        /// `None`: the only organization.
        org: Option<String>,
        wish: DeskWish,
    },
    /// Answered with [`Answer::Nodes`](super::Answer::Nodes).
    Nodes,
    /// Answered with [`Answer::Users`](super::Answer::Users).
    ListUsers {
        /// `None`: the only organization.
        org: Option<String>,
    },
    /// Answered with [`Answer::Link`](super::Answer::Link).
    InviteUser {
        /// `None`: the only organization.
        org: Option<String>,
        email: String,
        name: Option<String>,
        /// Role as in the API.
        role: String,
    },
    /// Answered with [`Answer::Users`](super::Answer::Users): the user after the change, or before the removal.
    ChangeUser {
        /// Email address or user ID.
        who: String,
        /// Organization, if the address has users in several.
        org: Option<String>,
        fate: Fate,
    },
    /// Answered with [`Answer::Sessions`](super::Answer::Sessions).
    Sessions {
        /// Email address or user ID.
        who: String,
        /// Organization, if the address has users in several.
        org: Option<String>,
    },
    /// Answered with [`Answer::SignedOut`](super::Answer::SignedOut).
    SignOut {
        /// Email address or user ID.
        who: String,
        /// Organization, if the address has users in several.
        org: Option<String>,
        /// One session; `None` for all.
        session: Option<String>,
    },
    /// Records a user's identity check. Answered with [`Answer::Identified`](super::Answer::Identified).
    Identify {
        /// Email address or user ID.
        who: String,
        /// Organization, if the address has users in several.
        org: Option<String>,
        identity: Identity,
    },
    /// Creates a one-time link for setting a new password. Answered with [`Answer::Link`](super::Answer::Link).
    ResetLink {
        /// Email address, user ID or organization ID.
        who: String,
        /// Organization, if the address has users in several.
        org: Option<String>,
        /// Also turns off two-factor authentication.
        without_second_factor: bool,
    },
}
