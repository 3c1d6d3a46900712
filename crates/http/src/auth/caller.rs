//! Who calls a route of the API: a key, a person in the dashboard, or whoever runs the installation at the command line.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use probity_account::api_key::KeyKind;
use probity_account::id::{OrgId, UserId};
use probity_account::role::Role;
use probity_account::scope::Scopes;
use probity_mail::time::Millis;
use probity_service::error::ApiError;
use probity_store::OrgNo;
use probity_store::events::Actor;
use probity_store::keys::{Key, Known};
use probity_store::organization::{Org, OrgStatus};
use probity_store::sessions::SignedIn;

use crate::error::Refusal;

/// Who calls. An extractor on routes of the API, under `/v1` and under `/app/v1`.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// A key.
    Key(Arc<Known>),
    /// A person who is signed in.
    Person(Arc<SignedIn>),
    /// Whoever runs the installation, about this organization or about what it has tested ([`crate::desk`]).
    Staff { org: Arc<Org>, test: bool },
}

impl Caller {
    pub(crate) fn org(&self) -> OrgNo {
        match self {
            Self::Key(known) => known.key.org,
            Self::Person(person) => person.session.org,
            Self::Staff { org, .. } => org.no,
        }
    }

    pub(crate) fn org_id(&self) -> OrgId {
        match self {
            Self::Key(known) => known.org_id,
            Self::Person(person) => person.org_id,
            Self::Staff { org, .. } => org.id,
        }
    }

    pub(super) fn org_status(&self) -> OrgStatus {
        match self {
            Self::Key(known) => known.org_status,
            Self::Person(person) => person.org_status,
            Self::Staff { org, .. } => org.status,
        }
    }

    /// The name of the organization's plan.
    pub(super) fn org_plan(&self) -> &str {
        match self {
            Self::Key(known) => &known.org_plan,
            Self::Person(person) => &person.org_plan,
            Self::Staff { org, .. } => &org.plan,
        }
    }

    /// Requests a minute that the operator allows the organization, and that it wishes for itself.
    pub(super) fn org_rates(&self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Key(known) => (known.org_rate_limit_per_minute, known.org_wished_per_minute),
            Self::Person(person) => (person.org_rate_limit_per_minute, person.org_wished_per_minute),
            Self::Staff { org, .. } => (org.rate_limit_per_minute, None),
        }
    }

    /// Whether nothing that this caller does counts: it spends no credit and sees only what test keys made.
    pub(crate) fn is_test(&self) -> bool {
        match self {
            Self::Key(known) => known.key.kind == KeyKind::Test,
            Self::Person(_) => false,
            Self::Staff { test, .. } => *test,
        }
    }

    /// Whether it is a person who may change what belongs to all.
    pub(crate) fn is_administrator(&self) -> bool {
        matches!(self, Self::Person(person) if person.role == Role::Administrator)
    }

    /// What the caller may do: a key's scopes, or those of a person's role.
    pub(crate) fn scopes(&self) -> Scopes {
        match self {
            Self::Key(known) => known.key.scopes,
            Self::Person(person) => person.role.scopes(),
            Self::Staff { .. } => Scopes::all(),
        }
    }

    /// Who acts, as events and jobs tell it.
    pub(crate) fn actor(&self) -> Actor {
        match self {
            Self::Key(known) => Actor::ApiKey(known.key.id),
            Self::Person(person) => Actor::User(person.session.user),
            Self::Staff { .. } => Actor::Staff,
        }
    }

    /// The key, where one calls.
    pub(crate) fn key(&self) -> Option<&Key> {
        match self {
            Self::Key(known) => Some(&known.key),
            Self::Person(_) | Self::Staff { .. } => None,
        }
    }

    /// The person who calls, or whose acts the key does.
    pub(crate) fn user(&self) -> Option<UserId> {
        match self {
            Self::Key(known) => known.key.user,
            Self::Person(person) => Some(person.session.user),
            Self::Staff { .. } => None,
        }
    }

    /// From when on what the caller makes may not last longer; none where it lasts.
    pub(crate) fn expires_at(&self) -> Option<Millis> {
        self.key().and_then(|key| key.expires_at)
    }

    /// The noun for messages about what is lacking.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Key(_) => "the key",
            Self::Person(_) => "your role",
            Self::Staff { .. } => "the operator",
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let caller = parts.extensions.get::<Self>().cloned();
        Ok(caller.ok_or_else(|| ApiError::server_error("a handler needs the caller, but its route has no guard"))?)
    }
}
