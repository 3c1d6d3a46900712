//! Account events other than jobs: changed settings, keys, credits, restrictions. [`crate::activity::timeline`] reads them.
//!
//! An event is written in the transaction of its cause, so neither exists without the other. It contains words from fixed lists,
//! ids, and values that [`mod@recorded`] passes: no addresses, networks or secrets, and no identity of staff. An event is never
//! changed, and is removed when it is old ([`purge`]).

mod kinds;
mod recorded;

use probity_account::id::{ConnId, JobId, KeyId, UserId, WebhookId};
use probity_mail::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::db::error::{Result, StoreError};
use crate::db::{ResultRow, Tx, args, statements};
use crate::number::OrgNo;

pub use kinds::{AccountEventKind, ConnectionEventKind};
pub use recorded::{REDACTED, recorded};

/// Originator of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventActor {
    /// A signed-in team member.
    User(UserId),
    ApiKey(KeyId),
    /// Staff at the operator's command line; the name is not stored.
    Staff,
    /// The service itself.
    System,
}

/// Key, member, webhook or job that an account event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSubject {
    Key(KeyId),
    Member(UserId),
    Webhook(WebhookId),
    Job(JobId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountChange {
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
    /// A connection was made, changed or ended.
    ConnectionChange {
        connection: ConnId,
        /// Canonical name of the platform.
        provider: String,
        change: ConnectionEventKind,
    },
    /// An account event, and what it is about; `None` if it is about the account or its actor.
    Account(AccountEventKind, Option<EventSubject>),
}

impl AccountChange {
    /// A changed field of a person. Only the field's name is stored.
    pub fn of_person(field: &str) -> Self {
        let setting = format!("account.{field}");
        Self::SettingsChange { setting, before: Value::Null, after: Value::Null, connection: None }
    }

    /// An account event about something.
    pub fn about(kind: AccountEventKind, subject: EventSubject) -> Self {
        Self::Account(kind, Some(subject))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::SettingsChange { .. } => SETTINGS_CHANGE,
            // The table knows two kinds; the body tells these apart.
            Self::ConnectionChange { .. } | Self::Account(..) => ACCOUNT_EVENT,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAccountEvent {
    pub at: Millis,
    pub what: AccountChange,
    /// Originator; `None` if unknown.
    pub actor: Option<EventActor>,
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
pub async fn add(
    tx: &mut Tx,
    org: OrgNo,
    at: Millis,
    actor: Option<EventActor>,
    happened: &[AccountChange],
) -> Result<()> {
    let mut no = at.0.saturating_mul(NUMBERS_PER_MS);
    for what in happened {
        let connection = match what {
            AccountChange::SettingsChange { connection, .. } => connection.map(|id| id.to_string()),
            AccountChange::ConnectionChange { connection, .. } => Some(connection.to_string()),
            AccountChange::Account(..) => None,
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

/// Stored form of an actor, which jobs use, too; and of a subject.
#[derive(Serialize, Deserialize)]
struct StoredActor {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

impl From<EventActor> for StoredActor {
    fn from(actor: EventActor) -> Self {
        let (kind, id) = match actor {
            EventActor::User(id) => ("user", Some(id.to_string())),
            EventActor::ApiKey(id) => ("api_key", Some(id.to_string())),
            EventActor::Staff => ("staff", None),
            EventActor::System => ("system", None),
        };
        Self { kind: kind.to_owned(), id }
    }
}

impl TryFrom<StoredActor> for EventActor {
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

impl EventActor {
    /// The actor as stored with jobs.
    pub fn to_json(self) -> String {
        serde_json::to_string(&StoredActor::from(self)).expect("an actor is plain JSON")
    }

    /// Parses the output of [`EventActor::to_json`].
    pub fn from_json(json: &str) -> Result<Self> {
        let stored: StoredActor = serde_json::from_str(json).map_err(|error| StoreError::Corrupt(error.into()))?;
        stored.try_into()
    }
}

impl From<EventSubject> for StoredActor {
    fn from(subject: EventSubject) -> Self {
        let (kind, id) = match subject {
            EventSubject::Key(id) => ("api_key", id.to_string()),
            EventSubject::Member(id) => ("user", id.to_string()),
            EventSubject::Webhook(id) => ("webhook", id.to_string()),
            EventSubject::Job(id) => ("job", id.to_string()),
        };
        Self { kind: kind.to_owned(), id: Some(id) }
    }
}

impl TryFrom<StoredActor> for EventSubject {
    type Error = StoreError;

    fn try_from(stored: StoredActor) -> Result<Self> {
        let damaged = || StoreError::corrupt("an event's subject");
        let id = stored.id.ok_or_else(damaged)?;
        match stored.kind.as_str() {
            "api_key" => Ok(Self::Key(id.parse().map_err(|_| damaged())?)),
            "user" => Ok(Self::Member(id.parse().map_err(|_| damaged())?)),
            "webhook" => Ok(Self::Webhook(id.parse().map_err(|_| damaged())?)),
            "job" => Ok(Self::Job(id.parse().map_err(|_| damaged())?)),
            _ => Err(damaged()),
        }
    }
}

#[derive(Deserialize)]
struct Body {
    actor: Option<StoredActor>,
    /// Missing in events from before subjects were recorded.
    subject: Option<StoredActor>,
    #[serde(default)]
    setting: String,
    #[serde(default)]
    before: Value,
    #[serde(default)]
    after: Value,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    provider: String,
    change: Option<String>,
}

fn body(what: &AccountChange, actor: Option<EventActor>) -> Vec<u8> {
    let actor = actor.map(StoredActor::from);
    let body = match what {
        AccountChange::SettingsChange { setting, before, after, .. } => {
            let (before, after) = recorded(setting, before, after);
            json!({ "setting": setting, "before": before, "after": after, "actor": actor })
        }
        AccountChange::ConnectionChange { provider, change, .. } => {
            json!({ "provider": provider, "change": change.as_str(), "actor": actor })
        }
        AccountChange::Account(kind, None) => json!({ "kind": kind.as_str(), "actor": actor }),
        AccountChange::Account(kind, Some(subject)) => {
            json!({ "kind": kind.as_str(), "subject": StoredActor::from(*subject), "actor": actor })
        }
    };
    serde_json::to_vec(&body).expect("an event is plain JSON")
}

/// Reads an event from its columns `at`, `kind`, `connection_id` and `body`.
pub(crate) fn read(row: &ResultRow) -> Result<StoredAccountEvent> {
    let body: Vec<u8> = row.get("body")?;
    let body: Body = serde_json::from_slice(&body).map_err(|error| StoreError::Corrupt(error.into()))?;
    let connection: Option<String> = row.get("connection_id")?;
    let connection =
        connection.map(|id| id.parse()).transpose().map_err(|_| StoreError::corrupt("an event's connection"))?;
    let kind: String = row.get("kind")?;
    let damaged = || StoreError::corrupt("an event's kind");
    let what = if kind == SETTINGS_CHANGE {
        AccountChange::SettingsChange { setting: body.setting, before: body.before, after: body.after, connection }
    } else if let Some(name) = body.change {
        let change = ConnectionEventKind::from_name(&name);
        let connection = connection.ok_or_else(damaged)?;
        AccountChange::ConnectionChange { connection, provider: body.provider, change: change.ok_or_else(damaged)? }
    } else {
        let known = AccountEventKind::from_name(&body.kind);
        let subject = body.subject.map(EventSubject::try_from).transpose()?;
        AccountChange::Account(known.ok_or_else(damaged)?, subject)
    };
    let actor = body.actor.map(EventActor::try_from).transpose()?;
    Ok(StoredAccountEvent { at: Millis(row.get("at")?), what, actor })
}
