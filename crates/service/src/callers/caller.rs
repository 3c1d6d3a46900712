//! Caller of an act: an API key, a user of the dashboard, or the operator at the command line.

use std::sync::Arc;

use probity_access::secrets::random;
use probity_account::api_key::KeyKind;
use probity_account::id::{OrgId, UserId};
use probity_account::role::MemberRole;
use probity_account::scope::{Scope, Scopes};
use probity_mail::time::Millis;
use probity_store::accounts::keys::{KnownKey, StoredKey};
use probity_store::accounts::organization::{OrgRecord, OrgState};
use probity_store::accounts::people::sessions::SignedInUser;
use probity_store::activity::events::{self, AccountChange, EventActor};
use probity_store::jobs::NewJob;
use probity_store::{OrgNo, StoreError, Tx};

/// Origin of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobOrigin {
    /// Source of its addresses.
    pub(crate) source: &'static str,
    /// Initiator, in the timeline's terms.
    pub(crate) started_by: &'static str,
    /// Action that starts it.
    pub(crate) source_action: &'static str,
}

/// Caller of an act.
#[derive(Clone, Debug)]
pub enum Caller {
    /// API key.
    Key(Arc<KnownKey>),
    /// Signed-in user, on live or on test data.
    Person { user: Arc<SignedInUser>, test: bool },
    /// Operator, acting for this organization or on its test data.
    Staff { org: Arc<OrgRecord>, test: bool },
}

impl Caller {
    pub fn org(&self) -> OrgNo {
        match self {
            Self::Key(known) => known.key.org,
            Self::Person { user, .. } => user.session.org,
            Self::Staff { org, .. } => org.no,
        }
    }

    pub fn org_id(&self) -> OrgId {
        match self {
            Self::Key(known) => known.org_id,
            Self::Person { user, .. } => user.org_id,
            Self::Staff { org, .. } => org.id,
        }
    }

    pub fn org_status(&self) -> OrgState {
        match self {
            Self::Key(known) => known.org_status,
            Self::Person { user, .. } => user.org_status,
            Self::Staff { org, .. } => org.status,
        }
    }

    /// Returns the name of the organization's plan.
    pub fn org_plan(&self) -> &str {
        match self {
            Self::Key(known) => &known.org_plan,
            Self::Person { user, .. } => &user.org_plan,
            Self::Staff { org, .. } => &org.plan,
        }
    }

    /// Returns the requests per minute that the operator allows the organization, and those that the organization has set
    /// itself.
    pub fn org_rates(&self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Key(known) => (known.org_rate_limit_per_minute, known.org_wished_per_minute),
            Self::Person { user, .. } => (user.org_rate_limit_per_minute, user.org_wished_per_minute),
            Self::Staff { org, .. } => (org.rate_limit_per_minute, None),
        }
    }

    /// Returns whether the caller works in test mode: spends no credits, and sees only test data.
    pub fn is_test(&self) -> bool {
        match self {
            Self::Key(known) => known.key.kind == KeyKind::Test,
            Self::Person { test, .. } | Self::Staff { test, .. } => *test,
        }
    }

    /// Returns whether the caller is an administrator.
    pub fn is_administrator(&self) -> bool {
        matches!(self, Self::Person { user, .. } if user.role == MemberRole::Administrator)
    }

    /// Returns the caller's scopes: those of the key, or those of the user's role.
    pub fn scopes(&self) -> Scopes {
        match self {
            Self::Key(known) => known.key.scopes,
            Self::Person { user, .. } => user.role.scopes(),
            Self::Staff { .. } => Scopes::all(),
        }
    }

    /// Returns the actor for events and jobs.
    pub fn actor(&self) -> EventActor {
        match self {
            Self::Key(known) => EventActor::ApiKey(known.key.id),
            Self::Person { user, .. } => EventActor::User(user.session.user),
            Self::Staff { .. } => EventActor::Staff,
        }
    }

    /// Records changes that the caller makes in the organization's timeline.
    pub(crate) async fn note(&self, tx: &mut Tx, at: Millis, what: &[AccountChange]) -> Result<(), StoreError> {
        events::add(tx, self.org(), at, Some(self.actor()), what).await
    }

    /// Describes a job that the caller starts.
    pub(crate) fn new_job(&self, at: Millis, origin: JobOrigin) -> NewJob {
        let JobOrigin { source, started_by, source_action } = origin;
        NewJob {
            org: self.org(),
            id: random::id(at),
            test: self.is_test(),
            source,
            started_by,
            source_action,
            actor: Some(self.actor().to_json()),
            at,
        }
    }

    /// Returns whether the operator calls.
    pub(crate) fn is_staff(&self) -> bool {
        matches!(self, Self::Staff { .. })
    }

    /// Returns the calling key, if there is one.
    pub fn key(&self) -> Option<&StoredKey> {
        match self {
            Self::Key(known) => Some(&known.key),
            Self::Person { .. } | Self::Staff { .. } => None,
        }
    }

    /// Returns the user who calls, or for whom the key acts.
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::Key(known) => known.key.user,
            Self::Person { user, .. } => Some(user.session.user),
            Self::Staff { .. } => None,
        }
    }

    /// Returns when the caller expires, which limits the lifetime of everything it creates; `None` if it does not expire.
    pub fn expires_at(&self) -> Option<Millis> {
        self.key().and_then(|key| key.expires_at)
    }

    /// Returns the noun for error messages about missing rights.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Key(_) => "the key",
            Self::Person { .. } => "your role",
            Self::Staff { .. } => "the operator",
        }
    }

    /// Returns the message for a caller without a scope: the missing scope, and the roles that have it.
    pub fn lacks(&self, scope: Scope) -> String {
        let remedy = if self.key().is_some() { "use a key that has it" } else { "ask an administrator" };
        format!("{} lacks the scope `{}`; {remedy}", self.noun(), scope.as_str())
    }
}
