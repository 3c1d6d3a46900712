//! Messages to customers' servers: put with their event, claimed by whoever sends them, recorded.
//!
//! [`put`] stands in the transaction of the event, so there is a message exactly when the event has happened. [`claim`] leases
//! messages that are due to one run, of several nodes to one; [`record`] writes what an attempt came to and is fenced by the
//! run's name: an attempt that took longer than its lease changes nothing any more. What is sent may therefore be sent twice
//! (a process died between the answer and the record), always with the same event id, by which the receiver knows it.
//!
//! Sending is not the store's: it knows neither the schedule of attempts nor what success is.

mod log;
mod secrets;

use std::fmt;
use std::str::FromStr;

use probity_core::id::{DeliveryId, EventId};
use probity_core::time::Millis;
use serde_json::json;

pub use log::{Depth, Logged, by_id, depth, page, purge, resend};
pub use secrets::{CallbackSecret, find_secret, rotate, secret_of};

use crate::db::{Conn, Row, Statement, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::wake::{self, Bell};

/// The most bytes of an answer that are kept.
pub const ANSWER_MAX: usize = 1_024;

statements! {
    PUT = "INSERT INTO outbox (org_no, id, event_id, kind, url, body, signer, state, attempts, next_at, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', 0, $8, $8)
        ON CONFLICT (org_no, event_id, url) DO NOTHING";
    ANY_DUE = "SELECT 1 AS one FROM outbox
        WHERE state = 'waiting' AND next_at <= $1 AND (lease_until IS NULL OR lease_until <= $1) LIMIT 1";
    CLAIM = "WITH due AS MATERIALIZED (
            SELECT org_no, id FROM outbox
            WHERE state = 'waiting' AND next_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)
            ORDER BY next_at LIMIT $2 {skip_locked})
        UPDATE outbox SET lease_until = $3, run = $4
        WHERE (org_no, id) IN (SELECT org_no, id FROM due)
        RETURNING org_no, id, event_id, url, body, signer, attempts, next_at";
    RECORD = "UPDATE outbox SET state = $4, attempts = attempts + 1, next_at = $5, lease_until = NULL, run = NULL,
            first_at = COALESCE(first_at, $6), last_at = $6, last_status = $7, last_error = $8, last_took_ms = $9,
            last_answer = $10
        WHERE org_no = $1 AND id = $2 AND run = $3 AND state = 'waiting'";
    DEFER = "UPDATE outbox SET next_at = d.at, lease_until = NULL, run = NULL
        FROM (SELECT CAST(each.value ->> 'o' AS BIGINT) AS o, each.value ->> 'd' AS d,
                CAST(each.value ->> 'at' AS BIGINT) AS at FROM {each:$1}) AS d
        WHERE org_no = d.o AND id = d.d AND run = $2 AND state = 'waiting'";
}

/// Every statement about messages and their secrets.
pub(crate) fn all_statements() -> Vec<&'static Statement> {
    [STATEMENTS, log::STATEMENTS, secrets::STATEMENTS].concat()
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is to be sent, now or later.
    Waiting,
    /// The receiver took it.
    Delivered,
    /// It was tried as often as it is tried, or the receiver wants no more.
    Exhausted,
    /// Nobody wants it sent any more.
    Cancelled,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Delivered, Self::Exhausted, Self::Cancelled];

    /// The state's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Exhausted => "exhausted",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for State {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| StoreError::corrupt("a message's state"))
    }
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Whose.
    pub org: OrgNo,
    /// Its name.
    pub id: DeliveryId,
    /// The event that it tells of. The same event must always get the same id.
    pub event: EventId,
    /// What sort of event, for the log: `job.finished`.
    pub kind: String,
    /// Where it goes, as parsed and written again: ASCII, at most 2,048 bytes.
    pub url: String,
    /// What is sent, byte for byte.
    pub body: Vec<u8>,
    /// With whose secret it is signed: nothing for the organization's own, else the id of a webhook.
    pub signer: String,
    /// When it was made; it is due at once.
    pub created_at: Millis,
}

/// A message that a run holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Whose.
    pub org: OrgNo,
    /// Its name.
    pub id: DeliveryId,
    /// [`Delivery::event`].
    pub event: EventId,
    /// [`Delivery::url`].
    pub url: String,
    /// [`Delivery::body`].
    pub body: Vec<u8>,
    /// [`Delivery::signer`].
    pub signer: String,
    /// How many attempts have come to an end.
    pub attempts: i64,
    /// When it was due.
    pub due_at: Millis,
    /// By what its run is known.
    pub run: String,
}

/// What an attempt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When it began.
    pub at: Millis,
    /// How long it took, in milliseconds.
    pub took_ms: i64,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// Why there was none: a name of ours.
    pub error: Option<&'static str>,
    /// The beginning of the answer's body; beyond [`ANSWER_MAX`] it is cut off.
    pub answer: Vec<u8>,
    /// Where the message stands now.
    pub state: State,
    /// When it is tried again, where it waits.
    pub next_at: Millis,
}

/// Puts a message into the outbox, in the transaction of its event. False: this event was put for this URL before.
pub async fn put(tx: &mut Tx, delivery: &Delivery) -> Result<bool> {
    let Delivery { org, id, event, kind, url, body, signer, created_at } = delivery;
    let ids = [id.to_string(), event.to_string()];
    let [id, event] = ids;
    let args = args![*org, id, event, kind.as_str(), url.as_str(), body.as_slice(), signer.as_str(), *created_at];
    let is_new = tx.execute(&PUT, args).await? == 1;
    if is_new {
        wake::ring(tx, Bell::Outbox).await?;
    }
    Ok(is_new)
}

/// Whether [`claim`] would find something: a reader's question, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, now: Millis) -> Result<bool> {
    Ok(conn.first(&ANY_DUE, args![now]).await?.is_some())
}

/// Leases up to `at_most` messages that are due to a run, those that were due first first. `run` must be a text that no other
/// claim uses: a random one.
pub async fn claim(tx: &mut Tx, now: Millis, lease_ms: i64, run: &str, at_most: u32) -> Result<Vec<Claimed>> {
    let rows = tx.rows(&CLAIM, args![now, i64::from(at_most), now + lease_ms, run]).await?;
    let mut claimed: Vec<Claimed> = rows.iter().map(|row| read(row, run)).collect::<Result<_>>()?;
    // What is returned has the order of the table.
    claimed.sort_by_key(|one| (one.due_at, one.id));
    Ok(claimed)
}

fn read(row: &Row, run: &str) -> Result<Claimed> {
    Ok(Claimed {
        org: OrgNo(row.get("org_no")?),
        id: row.parse("id")?,
        event: row.parse("event_id")?,
        url: row.get("url")?,
        body: row.get("body")?,
        signer: row.get("signer")?,
        attempts: row.get("attempts")?,
        due_at: Millis(row.get("next_at")?),
        run: run.to_owned(),
    })
}

/// Writes what an attempt came to, and ends the lease. Lease lost: another run has the message, or somebody has ended it.
pub async fn record(tx: &mut Tx, claimed: &Claimed, attempt: &Attempt) -> Result<()> {
    let answer = &attempt.answer[..attempt.answer.len().min(ANSWER_MAX)];
    let args = args![
        claimed.org,
        claimed.id.to_string(),
        claimed.run.as_str(),
        attempt.state.as_str(),
        attempt.next_at,
        attempt.at,
        attempt.status.map(i64::from),
        attempt.error,
        attempt.took_ms,
        answer,
    ];
    if tx.execute(&RECORD, args).await? == 1 { Ok(()) } else { Err(StoreError::LeaseLost) }
}

/// Hands messages of one claim back untried, each until a time. Those that the run does not hold any more stay as they are.
pub async fn defer(tx: &mut Tx, run: &str, until: &[(OrgNo, DeliveryId, Millis)]) -> Result<()> {
    if until.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> =
        until.iter().map(|(org, id, at)| json!({ "o": org.0, "d": id.to_string(), "at": at.0 })).collect();
    tx.execute(&DEFER, args![serde_json::Value::from(rows).to_string(), run]).await?;
    Ok(())
}
