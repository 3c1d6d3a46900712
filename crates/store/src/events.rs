//! Account events other than jobs: changed settings, keys, credits, restrictions. [`crate::timeline`] reads them.
//!
//! An event is written in the transaction of its cause, so neither exists without the other. It contains words from fixed lists,
//! ids, and values that [`mod@recorded`] passes: no addresses, networks or secrets, and no identity of staff. An event is never
//! changed, and is removed when it is old ([`purge`]).

mod recorded;

use probity_account::id::{ConnId, KeyId, UserId};
use probity_mail::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::db::{Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

pub use recorded::{REDACTED, recorded};

/// Originator of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A signed-in team member.
    User(UserId),
    ApiKey(KeyId),
    /// Staff at the operator's command line; the name is not stored.
    Staff,
    /// The service itself.
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountEvent {
    KeyCreated,
    KeyRevoked,
    CreditsGranted,
    /// The balance was corrected by hand.
    CreditsAdjusted,
    /// Credits were refilled automatically.
    AutoRefill,
    /// The balance fell below its threshold.
    LowBalance,
    /// The organization's plan changed.
    PlanChange,
    /// The account was suspended, paused or banned.
    Hold,
    HoldLifted,
    CallbackSecretRotated,
    Login,
    /// A password was set or changed.
    PasswordChanged,
    /// The operator created a link that sets a new password.
    ResetLinkCreated,
    /// A user enabled two-factor authentication.
    SecondFactorEnabled,
    /// A user disabled two-factor authentication.
    SecondFactorDisabled,
    /// A user ended their own sessions.
    SessionsRevoked,
    MemberInvited,
    /// An invitation was accepted.
    MemberJoined,
    MemberChanged,
    /// A member was removed, or an invitation withdrawn.
    MemberRemoved,
    WebhookCreated,
    /// A webhook's name, URL or filter changed.
    WebhookChanged,
    WebhookDeleted,
    /// A webhook was disabled: by a user, or by the system after failing for too long.
    WebhookDisabled,
    WebhookEnabled,
    WebhookSecretRotated,
    /// A user requested an erasure.
    Erasure,
}

impl AccountEvent {
    pub const ALL: [Self; 27] = [
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::CreditsGranted,
        Self::CreditsAdjusted,
        Self::AutoRefill,
        Self::LowBalance,
        Self::PlanChange,
        Self::Hold,
        Self::HoldLifted,
        Self::CallbackSecretRotated,
        Self::Login,
        Self::PasswordChanged,
        Self::ResetLinkCreated,
        Self::SecondFactorEnabled,
        Self::SecondFactorDisabled,
        Self::SessionsRevoked,
        Self::MemberInvited,
        Self::MemberJoined,
        Self::MemberChanged,
        Self::MemberRemoved,
        Self::WebhookCreated,
        Self::WebhookChanged,
        Self::WebhookDeleted,
        Self::WebhookDisabled,
        Self::WebhookEnabled,
        Self::WebhookSecretRotated,
        Self::Erasure,
    ];

    /// Name in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::CreditsGranted => "credits_granted",
            Self::CreditsAdjusted => "credits_adjusted",
            Self::AutoRefill => "auto_refill",
            Self::LowBalance => "low_balance",
            Self::PlanChange => "plan_change",
            Self::Hold => "hold",
            Self::HoldLifted => "hold_lifted",
            Self::CallbackSecretRotated => "callback_secret_rotated",
            Self::Login => "login",
            Self::PasswordChanged => "password_changed",
            Self::ResetLinkCreated => "reset_link_created",
            Self::SecondFactorEnabled => "second_factor_enabled",
            Self::SecondFactorDisabled => "second_factor_disabled",
            Self::SessionsRevoked => "sessions_revoked",
            Self::MemberInvited => "member_invited",
            Self::MemberJoined => "member_joined",
            Self::MemberChanged => "member_changed",
            Self::MemberRemoved => "member_removed",
            Self::WebhookCreated => "webhook_created",
            Self::WebhookChanged => "webhook_changed",
            Self::WebhookDeleted => "webhook_deleted",
            Self::WebhookDisabled => "webhook_disabled",
            Self::WebhookEnabled => "webhook_enabled",
            Self::WebhookSecretRotated => "webhook_secret_rotated",
            Self::Erasure => "erasure",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    SettingsChange {
        /// The setting, as a dotted path of fixed names.
        setting: String,
        /// Former value, as far as [`recorded()`] passes it.
        before: Value,
        /// New value, as far as [`recorded()`] passes it.
        after: Value,
        /// Connection that the setting belongs to.
        connection: Option<ConnId>,
    },
    /// An account event.
    Account(AccountEvent),
}

impl What {
    /// A changed field of a person. Only the field's name is stored.
    pub fn of_person(field: &str) -> Self {
        let setting = format!("account.{field}");
        Self::SettingsChange { setting, before: Value::Null, after: Value::Null, connection: None }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::SettingsChange { .. } => SETTINGS_CHANGE,
            Self::Account(_) => ACCOUNT_EVENT,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub at: Millis,
    pub what: What,
    /// Originator; `None` if unknown.
    pub actor: Option<Actor>,
}

pub(crate) const SETTINGS_CHANGE: &str = "settings_change";
const ACCOUNT_EVENT: &str = "account_event";
/// Event numbers per millisecond. If they run out, those of the next millisecond are used.
const NUMBERS_PER_MS: i64 = 1_024;

statements! {
    ADD = "INSERT INTO event (org_no, event_no, at, kind, connection_id, body) VALUES ($1, $2, $3, $4, $5, $6) \
           ON CONFLICT (org_no, event_no) DO NOTHING";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, event_no FROM event WHERE at < $1 ORDER BY at LIMIT $2 {skip_locked})
        DELETE FROM event WHERE (org_no, event_no) IN (SELECT org_no, event_no FROM old)";
}

/// Records events in the given order. Concurrent transactions share the numbers of a millisecond: each tries them from the first
/// on, to prevent deadlocks.
pub async fn add(tx: &mut Tx, org: OrgNo, at: Millis, actor: Option<Actor>, happened: &[What]) -> Result<()> {
    let mut no = at.0.saturating_mul(NUMBERS_PER_MS);
    for what in happened {
        let connection = match what {
            What::SettingsChange { connection, .. } => connection.map(|id| id.to_string()),
            What::Account(_) => None,
        };
        let body = body(what, actor);
        while tx.execute(&ADD, args![org, no, at, what.kind(), connection.as_deref(), body.as_slice()]).await? == 0 {
            no += 1;
        }
        no += 1;
    }
    Ok(())
}

/// Removes up to `at_most` events from before a time, oldest first; returns the number removed.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![before, i64::from(at_most)]).await
}

/// Stored form of an actor, which jobs use, too.
#[derive(Serialize, Deserialize)]
struct StoredActor {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

impl From<Actor> for StoredActor {
    fn from(actor: Actor) -> Self {
        let (kind, id) = match actor {
            Actor::User(id) => ("user", Some(id.to_string())),
            Actor::ApiKey(id) => ("api_key", Some(id.to_string())),
            Actor::Staff => ("staff", None),
            Actor::System => ("system", None),
        };
        Self { kind: kind.to_owned(), id }
    }
}

impl TryFrom<StoredActor> for Actor {
    type Error = StoreError;

    fn try_from(stored: StoredActor) -> Result<Self> {
        let damaged = || StoreError::corrupt("an actor cannot be read");
        match (stored.kind.as_str(), stored.id) {
            ("user", Some(id)) => Ok(Self::User(id.parse().map_err(|_| damaged())?)),
            ("api_key", Some(id)) => Ok(Self::ApiKey(id.parse().map_err(|_| damaged())?)),
            ("staff", None) => Ok(Self::Staff),
            ("system", None) => Ok(Self::System),
            _ => Err(damaged()),
        }
    }
}

impl Actor {
    /// The actor as stored with jobs.
    pub fn to_json(self) -> String {
        serde_json::to_string(&StoredActor::from(self)).expect("an actor is plain JSON")
    }

    /// Parses the output of [`Actor::to_json`].
    pub fn from_json(json: &str) -> Result<Self> {
        let stored: StoredActor = serde_json::from_str(json).map_err(|error| StoreError::Corrupt(error.into()))?;
        stored.try_into()
    }
}

#[derive(Deserialize)]
struct Body {
    actor: Option<StoredActor>,
    #[serde(default)]
    setting: String,
    #[serde(default)]
    before: Value,
    #[serde(default)]
    after: Value,
    #[serde(default)]
    kind: String,
}

fn body(what: &What, actor: Option<Actor>) -> Vec<u8> {
    let actor = actor.map(StoredActor::from);
    let body = match what {
        What::SettingsChange { setting, before, after, .. } => {
            let (before, after) = recorded(setting, before, after);
            json!({ "setting": setting, "before": before, "after": after, "actor": actor })
        }
        What::Account(kind) => json!({ "kind": kind.as_str(), "actor": actor }),
    };
    serde_json::to_vec(&body).expect("an event is plain JSON")
}

/// Reads an event from its columns `at`, `kind`, `connection_id` and `body`.
pub(crate) fn read(row: &Row) -> Result<Event> {
    let body: Vec<u8> = row.get("body")?;
    let body: Body = serde_json::from_slice(&body).map_err(|error| StoreError::Corrupt(error.into()))?;
    let connection: Option<String> = row.get("connection_id")?;
    let connection =
        connection.map(|id| id.parse()).transpose().map_err(|_| StoreError::corrupt("an event's connection"))?;
    let kind: String = row.get("kind")?;
    let what = if kind == SETTINGS_CHANGE {
        What::SettingsChange { setting: body.setting, before: body.before, after: body.after, connection }
    } else {
        let known = AccountEvent::ALL.into_iter().find(|event| event.as_str() == body.kind);
        What::Account(known.ok_or_else(|| StoreError::corrupt("an event's kind"))?)
    };
    let actor = body.actor.map(Actor::try_from).transpose()?;
    Ok(Event { at: Millis(row.get("at")?), what, actor })
}
