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
use crate::records::{FromRow, ReadColumns as _, damaged};

pub use kinds::{AccountEventKind, ConnectionEventKind};
pub use recorded::{REDACTED, recorded};

/// Originator of an event, as events and jobs store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "snake_case")]
pub enum EventActor {
    /// A signed-in team member.
    User(UserId),
    ApiKey(KeyId),
    /// Staff at the operator's command line; the name is not stored.
    Staff,
    /// The service itself.
    System,
}

/// Key, member, webhook or job that an account event is about, as events store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "snake_case")]
pub enum EventSubject {
    #[serde(rename = "api_key")]
    Key(KeyId),
    #[serde(rename = "user")]
    Member(UserId),
    Webhook(WebhookId),
    Job(JobId),
}

/// Run that a change of its connection is about, as events store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedRun {
    pub id: JobId,
    /// Number of contacts that the change is about; `None` if it is not known.
    pub contacts: Option<i64>,
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
    /// A connection was made, changed or ended, or somebody decided about a run.
    ConnectionChange {
        connection: ConnId,
        /// Canonical name of the platform.
        provider: String,
        change: ConnectionEventKind,
        run: Option<ChangedRun>,
    },
    /// An account event with its subject; `None` if it is about the account or its actor.
    Account(AccountEventKind, Option<EventSubject>),
}

impl AccountChange {
    /// Describes a changed field of a member. Only the field's name is stored.
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
            // The table distinguishes two kinds only; the body distinguishes these.
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
            AccountChange::SettingsChange { connection, .. } => *connection,
            AccountChange::ConnectionChange { connection, .. } => Some(*connection),
            AccountChange::Account(..) => None,
        };
        let body = body(what, actor);
        while tx.execute(&ADD, args![org, no, at, what.kind(), connection, &body]).await? == 0 {
            no += 1;
        }
        no += 1;
    }
    Ok(())
}

/// Removes up to `at_most` events from before a time, oldest first; returns the number removed.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![before, at_most]).await
}

impl EventActor {
    /// The actor as stored with jobs.
    pub fn to_json(self) -> String {
        serde_json::to_string(&self).expect("an actor is plain JSON")
    }

    /// Parses the output of [`EventActor::to_json`].
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(damaged)
    }
}

#[derive(Deserialize)]
struct EventBody {
    actor: Option<EventActor>,
    /// Missing in events from before subjects were recorded.
    subject: Option<EventSubject>,
    #[serde(default)]
    setting: String,
    #[serde(default)]
    before: Value,
    #[serde(default)]
    after: Value,
    kind: Option<AccountEventKind>,
    #[serde(default)]
    provider: String,
    change: Option<ConnectionEventKind>,
    run: Option<ChangedRun>,
}

fn body(what: &AccountChange, actor: Option<EventActor>) -> Vec<u8> {
    let body = match what {
        AccountChange::SettingsChange { setting, before, after, .. } => {
            let (before, after) = recorded(setting, before, after);
            json!({ "setting": setting, "before": before, "after": after, "actor": actor })
        }
        AccountChange::ConnectionChange { provider, change, run: None, .. } => {
            json!({ "provider": provider, "change": change.as_str(), "actor": actor })
        }
        AccountChange::ConnectionChange { provider, change, run, .. } => {
            json!({ "provider": provider, "change": change.as_str(), "run": run, "actor": actor })
        }
        AccountChange::Account(kind, None) => json!({ "kind": kind.as_str(), "actor": actor }),
        AccountChange::Account(kind, Some(subject)) => {
            json!({ "kind": kind.as_str(), "subject": subject, "actor": actor })
        }
    };
    serde_json::to_vec(&body).expect("an event is plain JSON")
}

/// Reads an event from its columns `at`, `kind`, `connection_id` and `body`.
impl FromRow for StoredAccountEvent {
    fn from_row(row: &ResultRow) -> Result<Self> {
        let body: EventBody = serde_json::from_str(&row.text("body")?).map_err(damaged)?;
        let connection: Option<ConnId> = row.read("connection_id")?;
        let unread = || StoreError::corrupt("an event's kind");
        let what = if row.get::<String>("kind")? == SETTINGS_CHANGE {
            AccountChange::SettingsChange { setting: body.setting, before: body.before, after: body.after, connection }
        } else if let Some(change) = body.change {
            let connection = connection.ok_or_else(unread)?;
            AccountChange::ConnectionChange { connection, provider: body.provider, change, run: body.run }
        } else {
            AccountChange::Account(body.kind.ok_or_else(unread)?, body.subject)
        };
        Ok(Self { at: row.read("at")?, what, actor: body.actor })
    }
}
