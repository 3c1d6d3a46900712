//! What commands ask of the service.

use super::{
    Booking, Change, DeliveryState, ErasureWish, Fate, Identity, NewKey, OrgStatus, lists, reports, settings,
    suppressions, webhooks,
};

/// What the API's own routes answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeskWish {
    /// About lists.
    Lists {
        /// What.
        wish: lists::Wish,
        /// Whether about those that test keys made.
        test: bool,
    },
    /// About settings.
    Settings(settings::Wish),
    /// About usage and what happened.
    Report(reports::Question),
    /// On which suppression lists an address is.
    FindSuppression(String),
}

/// What is asked of the service. Where an organization may be left out, the only one that there is is meant ([`only`](super::only)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A new organization; without a plan, with that of `credits.plan`. Answered with [`Answer::Orgs`](super::Answer::Orgs).
    CreateOrg {
        /// For people.
        name: String,
        /// Its plan's name.
        plan: Option<String>,
    },
    /// All organizations.
    ListOrgs,
    /// All plans. Answered with [`Answer::Plans`](super::Answer::Plans).
    Plans,
    /// One organization. Answered with [`Answer::Org`](super::Answer::Org), as is the following.
    ShowOrg {
        /// Its id.
        org: String,
    },
    /// A change of one.
    ChangeOrg {
        /// Its id.
        org: String,
        /// What.
        change: Change,
    },
    /// Suspend, pause, ban, review or lift. Answered with the organization as it is then.
    SetStatus {
        /// Its id.
        org: String,
        /// What it is to be.
        status: OrgStatus,
        /// Why, for operators.
        reason: Option<String>,
    },
    /// A new key. Answered with [`Answer::NewKey`](super::Answer::NewKey).
    CreateKey {
        /// Whose.
        org: Option<String>,
        /// What it is to be.
        key: NewKey,
    },
    /// The keys of an organization, revoked ones too.
    ListKeys {
        /// Whose.
        org: Option<String>,
    },
    /// The end of a key. Answered with the key as it is then.
    RevokeKey {
        /// Whose it must be, where that was said.
        org: Option<String>,
        /// Its id.
        key: String,
    },
    /// Credits put in or taken out. Answered with [`Answer::Balance`](super::Answer::Balance), as is the following.
    Book(Booking),
    /// What there is.
    Balance {
        /// Whose.
        org: Option<String>,
    },
    /// What was booked. Answered with [`Answer::Ledger`](super::Answer::Ledger).
    Ledger {
        /// Whose.
        org: Option<String>,
        /// How many at most.
        limit: u32,
    },
    /// Whether all books agree. Answered with [`Answer::Audit`](super::Answer::Audit), as is the following.
    AuditCredits,
    /// Whether the database keeps all promises.
    Audit,
    /// Messages to an organization's servers. Answered with [`Answer::Deliveries`](super::Answer::Deliveries).
    ListDeliveries {
        /// Whose.
        org: Option<String>,
        /// Of which state.
        state: Option<DeliveryState>,
        /// How many at most.
        limit: u32,
    },
    /// One of them. Answered with [`Answer::Delivery`](super::Answer::Delivery).
    ShowDelivery {
        /// Whose.
        org: Option<String>,
        /// Its id.
        delivery: String,
    },
    /// Sends one once more. Answered with [`Answer::Deliveries`](super::Answer::Deliveries): as it is then.
    ResendDelivery {
        /// Whose.
        org: Option<String>,
        /// Its id.
        delivery: String,
    },
    /// About erasures. Answered with [`Answer::Erasures`](super::Answer::Erasures).
    Erasures(ErasureWish),
    /// About webhooks. Answered with [`Answer::Webhooks`](super::Answer::Webhooks), a new secret with [`Answer::WebhookSecret`](super::Answer::WebhookSecret), a test with
    /// [`Answer::Deliveries`](super::Answer::Deliveries).
    Webhooks {
        /// Whose.
        org: Option<String>,
        /// What.
        wish: webhooks::Wish,
    },
    /// About suppression lists. Answered with [`Answer::Suppressions`](super::Answer::Suppressions), a change with [`Answer::SuppressionsChanged`](super::Answer::SuppressionsChanged).
    Suppressions {
        /// Whose.
        org: Option<String>,
        /// What.
        wish: suppressions::Wish,
    },
    /// What the API's own routes answer, and the dashboard's. Answered with [`Answer::Told`](super::Answer::Told).
    Desk {
        /// Whose.
        org: Option<String>,
        /// What.
        wish: DeskWish,
    },
    /// The nodes on the database. Answered with [`Answer::Nodes`](super::Answer::Nodes).
    Nodes,
    /// The members of an organization. Answered with [`Answer::Users`](super::Answer::Users).
    ListUsers {
        /// Whose.
        org: Option<String>,
    },
    /// Invites somebody. Answered with [`Answer::Link`](super::Answer::Link).
    InviteUser {
        /// Whereto.
        org: Option<String>,
        /// Their address.
        email: String,
        /// What they are called.
        name: Option<String>,
        /// What they may do, in the API's words.
        role: String,
    },
    /// What becomes of a member. Answered with [`Answer::Users`](super::Answer::Users): as they are then, or were.
    ChangeUser {
        /// An address, or the id of a person.
        who: String,
        /// Whose, where the address has people in several.
        org: Option<String>,
        /// What becomes of them.
        fate: Fate,
    },
    /// Where somebody is signed in. Answered with [`Answer::Sessions`](super::Answer::Sessions).
    Sessions {
        /// An address, or the id of a person.
        who: String,
        /// Whose, where the address has people in several.
        org: Option<String>,
    },
    /// Signs somebody out. Answered with [`Answer::SignedOut`](super::Answer::SignedOut).
    SignOut {
        /// An address, or the id of a person.
        who: String,
        /// Whose, where the address has people in several.
        org: Option<String>,
        /// Of one session, or of all.
        session: Option<String>,
    },
    /// What is known of who somebody is. Answered with [`Answer::Identified`](super::Answer::Identified).
    Identify {
        /// An address, or the id of a person.
        who: String,
        /// Whose, where the address has people in several.
        org: Option<String>,
        /// What is known.
        identity: Identity,
    },
    /// A one-time link with which somebody sets a new password. Answered with [`Answer::Link`](super::Answer::Link).
    ResetLink {
        /// An address, or the id of a person or of an organization.
        who: String,
        /// Whose, where the address has people in several.
        org: Option<String>,
        /// Whether their second factor goes.
        without_second_factor: bool,
    },
}
