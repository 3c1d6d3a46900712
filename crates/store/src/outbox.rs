//! Messages to customers' servers: put with their event, claimed by whoever sends them, recorded.
//!
//! [`put`] stands in the transaction of the event, so there is a message exactly when the event has happened. [`claim`] leases
//! messages that are due to one run, of several nodes to one; [`record`] writes what an attempt came to and is fenced by the
//! run's name: an attempt that took longer than its lease changes nothing any more. What is sent may therefore be sent twice
//! (a process died between the answer and the record), always with the same event id, by which the receiver knows it.
//!
//! Sending is not the store's: it knows neither the schedule of attempts nor what success is.

mod callback_secret;
mod deliveries;
mod tried;

use std::fmt;
use std::str::FromStr;

use probity_account::id::{DeliveryId, EventId, JobId};
use probity_mail::time::Millis;
use serde_json::json;

pub use callback_secret::{CallbackSecret, find_secret, rotate, secret_of};
pub use deliveries::{
    Depth, Logged, by_id, depth, kept_too_long, of_webhook, page, purge, purge_kept_too_long, purge_rows,
    remove_of_webhook, resend, tests_waiting,
};
pub use tried::{ATTEMPTS_MAX, EARLIER_ANSWER_MAX, Tried, before_the_last};

use crate::db::{Conn, Row, Statement, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::hex::hex;
use crate::number::OrgNo;
use crate::sealing::Place;
use crate::wake::{self, Bell};

/// [`Delivery::kind`] of a message that somebody sends to try a webhook.
pub const TEST: &str = "test";
/// The most bytes of an answer that are kept.
pub const ANSWER_MAX: usize = 4_096;

statements! {
    // An event is put once for each URL; for a webhook, once whatever its URL was.
    PUT = "INSERT INTO outbox (org_no, id, event_id, kind, url, body, signer, state, attempts, next_at, created_at, job_id, row_list)
        SELECT CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'i', each.value ->> 'e', each.value ->> 'k', each.value ->> 'u',
            {unhex:each.value ->> 'b'}, each.value ->> 's', 'waiting', 0, CAST(each.value ->> 'at' AS BIGINT),
            CAST(each.value ->> 'at' AS BIGINT), each.value ->> 'j', each.value ->> 'r'
        FROM {each:$1} WHERE 1 = 1 ON CONFLICT DO NOTHING";
    ANY_DUE = "SELECT 1 AS one FROM outbox
        WHERE state = 'waiting' AND next_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)
            AND org_no NOT IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$2}) LIMIT 1";
    CLAIM = "WITH due AS MATERIALIZED (
            SELECT org_no, id FROM outbox
            WHERE state = 'waiting' AND next_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)
                AND org_no NOT IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$5})
            ORDER BY next_at LIMIT $2 {skip_locked})
        UPDATE outbox SET lease_until = $3, run = $4
        WHERE (org_no, id) IN (SELECT org_no, id FROM due)
        RETURNING org_no, id, event_id, kind, url, body, signer, attempts, tried, next_at, created_at, job_id, row_list";
    // What a receiver answered while addresses were being erased may repeat one of them.
    RECORD = "UPDATE outbox SET state = $4, attempts = attempts + 1, tried = tried + 1, next_at = $5, lease_until = NULL, run = NULL,
            first_at = COALESCE(first_at, $6), last_at = $6, last_status = $7, last_error = $8, last_took_ms = $9,
            last_answer = CASE WHEN EXISTS (SELECT 1 FROM erasure e WHERE e.org_no = $1
                AND (e.completed_at IS NULL OR e.completed_at >= $6)) THEN NULL ELSE CAST($10 AS {bytes}) END, url = $11
        WHERE org_no = $1 AND id = $2 AND run = $3 AND state = 'waiting'";
    DEFER = "UPDATE outbox SET next_at = d.at, lease_until = NULL, run = NULL
        FROM (SELECT CAST(each.value ->> 'o' AS BIGINT) AS o, each.value ->> 'd' AS d,
                CAST(each.value ->> 'at' AS BIGINT) AS at FROM {each:$1}) AS d
        WHERE org_no = d.o AND id = d.d AND run = $2 AND state = 'waiting'";
    CANCEL = "UPDATE outbox SET state = 'cancelled', lease_until = NULL, run = NULL
        WHERE run = $2 AND state = 'waiting' AND (org_no, id) IN
            (SELECT CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'd' FROM {each:$1})";
}

/// Every statement about messages and their secrets.
pub(crate) fn all_statements() -> Vec<&'static Statement> {
    [STATEMENTS, deliveries::STATEMENTS, callback_secret::STATEMENTS, tried::STATEMENTS].concat()
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
    /// What is sent.
    pub content: Content,
    /// The job that it is about.
    pub job: Option<JobId>,
    /// With whose secret it is signed: nothing for the organization's own, else the id of a webhook.
    pub signer: String,
    /// When it was made; it is due at once.
    pub created_at: Millis,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What stands in these rows of its job when it is sent. So the outbox holds no addresses.
    Rows(Vec<i64>),
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
    /// [`Delivery::kind`].
    pub kind: String,
    /// [`Delivery::url`]. Whoever sends it elsewhere, because its webhook has another URL by now, says so here.
    pub url: String,
    /// [`Delivery::content`].
    pub content: Content,
    /// [`Delivery::job`].
    pub job: Option<JobId>,
    /// [`Delivery::signer`].
    pub signer: String,
    /// [`Delivery::created_at`].
    pub created_at: Millis,
    /// How many attempts have come to an end.
    pub attempts: i64,
    /// The same, over all resends.
    pub tried: i64,
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

/// Puts a message into the outbox, in the transaction of its event, and rings for it. False: it was put before.
pub async fn put(tx: &mut Tx, delivery: &Delivery) -> Result<bool> {
    Ok(put_all(tx, std::slice::from_ref(delivery)).await? == 1)
}

/// The same for several; says how many were new.
pub async fn put_all(tx: &mut Tx, deliveries: &[Delivery]) -> Result<u64> {
    let new = put_quietly(tx, deliveries).await?;
    if new > 0 {
        wake::ring(tx, Bell::Outbox).await?;
    }
    Ok(new)
}

/// Puts messages, those that were put before left out, and says how many were new. No other node is rung for: they look by
/// themselves soon.
pub async fn put_quietly(tx: &mut Tx, deliveries: &[Delivery]) -> Result<u64> {
    if deliveries.is_empty() {
        return Ok(0);
    }
    let each = |delivery: &Delivery| {
        let (body, rows) = match &delivery.content {
            Content::Bytes(bytes) => (bytes.as_slice(), None),
            Content::Rows(rows) => (&[][..], Some(json!(rows).to_string())),
        };
        json!({
            "o": delivery.org.0, "i": delivery.id.to_string(), "e": delivery.event.to_string(), "k": delivery.kind,
            "u": delivery.url, "b": hex(body), "s": delivery.signer, "at": delivery.created_at.0,
            "j": delivery.job.map(|id| id.to_string()), "r": rows,
        })
    };
    let each: Vec<_> = deliveries.iter().map(each).collect();
    tx.execute(&PUT, args![serde_json::Value::from(each).to_string()]).await
}

/// What a sender can take: so many messages, and none of these organizations, which have their share already.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// How many messages, at most.
    pub at_most: u32,
    /// Whose messages wait.
    pub not_of: &'a [OrgNo],
}

impl Room<'_> {
    /// So many messages, whosever they are.
    pub fn of(at_most: u32) -> Self {
        Self { at_most, not_of: &[] }
    }

    fn not_of(self) -> String {
        let each: Vec<[i64; 1]> = self.not_of.iter().map(|org| [org.0]).collect();
        serde_json::json!(each).to_string()
    }
}

/// Whether [`claim`] would find something: a reader's question, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, now: Millis, room: Room<'_>) -> Result<bool> {
    Ok(conn.first(&ANY_DUE, args![now, room.not_of()]).await?.is_some())
}

/// Leases messages that are due to a run, as many as there is room for, those that were due first first. `run` must be a text
/// that no other claim uses: a random one.
pub async fn claim(tx: &mut Tx, now: Millis, lease_ms: i64, run: &str, room: Room<'_>) -> Result<Vec<Claimed>> {
    let values = args![now, i64::from(room.at_most), now + lease_ms, run, room.not_of()];
    let rows = tx.rows(&CLAIM, values).await?;
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
        kind: row.get("kind")?,
        url: row.get("url")?,
        content: content(row)?,
        job: job(row)?,
        signer: row.get("signer")?,
        created_at: Millis(row.get("created_at")?),
        attempts: row.get("attempts")?,
        tried: row.get("tried")?,
        due_at: Millis(row.get("next_at")?),
        run: run.to_owned(),
    })
}

fn content(row: &Row) -> Result<Content> {
    let Some(rows) = row.get::<Option<String>>("row_list")? else { return Ok(Content::Bytes(row.get("body")?)) };
    serde_json::from_str(&rows).map(Content::Rows).map_err(|error| StoreError::Corrupt(error.into()))
}

fn job(row: &Row) -> Result<Option<JobId>> {
    let id: Option<String> = row.get("job_id")?;
    id.map(|id| id.parse()).transpose().map_err(|_| StoreError::corrupt("a message's job"))
}

/// Writes what an attempt came to, and ends the lease. What the attempt before came to is kept apart ([`before_the_last`]).
/// Lease lost: another run has the message, or somebody has ended it.
pub async fn record(tx: &mut Tx, claimed: &Claimed, attempt: &Attempt) -> Result<()> {
    if claimed.tried > 0 {
        tried::keep_last(tx, claimed).await?;
    }
    let id = claimed.id.to_string();
    // Receivers may repeat the addresses that they were told of.
    let answer = &attempt.answer[..attempt.answer.len().min(ANSWER_MAX)];
    // Nothing stands for nothing: sealed, it would look as if there were something.
    let answer =
        if answer.is_empty() { None } else { Some(tx.seal(claimed.org, answer_of(&id), answer).await?.into_owned()) };
    let args = args![
        claimed.org,
        &*id,
        claimed.run.as_str(),
        attempt.state.as_str(),
        attempt.next_at,
        attempt.at,
        attempt.status.map(i64::from),
        attempt.error,
        attempt.took_ms,
        answer,
        claimed.url.as_str(),
    ];
    if tx.execute(&RECORD, args).await? == 1 { Ok(()) } else { Err(StoreError::LeaseLost) }
}

/// Where the answer to a message lies.
fn answer_of(id: &str) -> Place<'_> {
    Place::named("outbox.last_answer", id)
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

/// Ends messages of one claim that nobody wants any more. Those that the run does not hold any more stay as they are.
pub async fn cancel(tx: &mut Tx, run: &str, which: &[(OrgNo, DeliveryId)]) -> Result<()> {
    if which.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = which.iter().map(|(org, id)| json!({ "o": org.0, "d": id.to_string() })).collect();
    tx.execute(&CANCEL, args![serde_json::Value::from(rows).to_string(), run]).await?;
    Ok(())
}
