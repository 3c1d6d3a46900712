//! Outbox: deliveries to customers' endpoints, added with their event, claimed by a sender, recorded.
//!
//! [`put`] runs in the transaction of the event, so a delivery exists exactly if the event happened. [`claim`] leases due
//! deliveries to one run among all nodes. [`record()`] writes the outcome of an attempt and is fenced by the run's name: an attempt
//! that outlasts its lease changes nothing. So a delivery may be sent twice (a process died between the response and the record),
//! but always with the same event id, by which the endpoint recognizes it.
//!
//! The store does not send: it has neither the retry schedule nor the definition of success.

mod deliveries;
mod tried;

use probity_account::id::{DeliveryId, EventId, JobId};
use probity_mail::time::Millis;
use serde_json::json;

pub use deliveries::{
    LoggedDelivery, OutboxDepth, by_hour, by_id, depth, kept_too_long, of_webhook, page, purge, purge_kept_too_long,
    purge_rows, remove_of_webhook, resend, tests_waiting,
};
pub use tried::{ATTEMPTS_MAX, EARLIER_ANSWER_MAX, EarlierAttempt, before_the_last};

use crate::db::error::{Result, StoreError};
use crate::db::hex::hex;
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::nodes::wake::{self, WakeUp};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal};
use crate::records::{ReadColumns as _, TypedStatements as _, listed, records};

/// [`NewDelivery::kind`] of a test delivery to a webhook.
pub const TEST: &str = "test";
/// Maximum bytes of a response that are stored.
pub const ANSWER_MAX: usize = 4_096;

statements! {
    // An event is added once for each URL; for a webhook, once regardless of its URL.
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
        RETURNING org_no, id, event_id, kind, url, body, signer, attempts, tried, run, next_at, created_at, job_id, row_list";
    // A response received while addresses were being erased may contain one of them.
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
    [deliveries, tried]
}

probity_mail::named! {
    /// State of a delivery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OutboxState {
        /// To be sent, now or later.
        Waiting = "waiting",
        /// The endpoint accepted it.
        Delivered = "delivered",
        /// All attempts failed, or the endpoint refuses further ones.
        Exhausted = "exhausted",
        /// No longer to be sent.
        Cancelled = "cancelled",
    }
}
crate::records::names!(OutboxState);

/// Delivery to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    pub org: OrgNo,
    pub id: DeliveryId,
    /// Event that it reports. The same event must always get the same id.
    pub event: EventId,
    /// Event type, for the log: `job.finished`.
    pub kind: String,
    /// Target URL, parsed and serialized: ASCII, at most 2,048 bytes.
    pub url: String,
    pub content: DeliveryContent,
    /// Job that it is about.
    pub job: Option<JobId>,
    /// Signer: empty for the organization's own secret, else the id of a webhook.
    pub signer: String,
    /// Creation time; it is due at once.
    pub created_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryContent {
    /// Fixed bytes.
    Bytes(Vec<u8>),
    /// Results of these rows of its job at sending time. So the outbox holds no addresses.
    Rows(Vec<i64>),
}

/// Delivery claimed by a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedDelivery {
    pub org: OrgNo,
    pub id: DeliveryId,
    pub event: EventId,
    pub kind: String,
    /// [`NewDelivery::url`]. Replace it if the webhook has another URL by now.
    pub url: String,
    pub content: DeliveryContent,
    pub job: Option<JobId>,
    pub signer: String,
    pub created_at: Millis,
    /// Finished attempts.
    pub attempts: i64,
    /// Finished attempts over all resends.
    pub tried: i64,
    /// Time when it was due.
    pub due_at: Millis,
    /// Name of the run.
    pub run: String,
}

/// Outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptResult {
    /// Start time.
    pub at: Millis,
    /// Duration in milliseconds.
    pub took_ms: i64,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// Reason for the missing response: one of a fixed set of names.
    pub error: Option<&'static str>,
    /// Beginning of the response body; cut off after [`ANSWER_MAX`] bytes.
    pub answer: Vec<u8>,
    /// New state of the delivery.
    pub state: OutboxState,
    /// Time of the next attempt, if it waits.
    pub next_at: Millis,
}

/// Adds a delivery to the outbox, in the transaction of its event, and sends a wake-up. False: it was added before.
pub async fn put(tx: &mut Tx, delivery: &NewDelivery) -> Result<bool> {
    Ok(put_all(tx, std::slice::from_ref(delivery)).await? == 1)
}

/// As [`put`] for several; returns the number added.
pub async fn put_all(tx: &mut Tx, deliveries: &[NewDelivery]) -> Result<u64> {
    let new = put_quietly(tx, deliveries).await?;
    if new > 0 {
        wake::ring(tx, WakeUp::Outbox).await?;
    }
    Ok(new)
}

/// Adds deliveries except those added before; returns the number added. Sends no wake-up: other nodes poll soon.
pub async fn put_quietly(tx: &mut Tx, deliveries: &[NewDelivery]) -> Result<u64> {
    if deliveries.is_empty() {
        return Ok(0);
    }
    let each = |delivery: &NewDelivery| {
        let (body, rows) = match &delivery.content {
            DeliveryContent::Bytes(bytes) => (bytes.as_slice(), None),
            DeliveryContent::Rows(rows) => (&[][..], Some(json!(rows).to_string())),
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

/// Capacity of a sender: a number of deliveries, and the organizations that already have their share.
#[derive(Clone, Copy, Debug)]
pub struct SenderCapacity<'a> {
    /// Maximum number of deliveries.
    pub at_most: u32,
    /// Organizations to skip.
    pub not_of: &'a [OrgNo],
}

impl SenderCapacity<'_> {
    /// Capacity for `at_most` deliveries of any organization.
    pub fn of(at_most: u32) -> Self {
        Self { at_most, not_of: &[] }
    }

    fn not_of(self) -> String {
        listed(self.not_of.iter().map(|org| org.0))
    }
}

/// Whether [`claim`] would find work: reads only, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, now: Millis, room: SenderCapacity<'_>) -> Result<bool> {
    conn.has(&ANY_DUE, args![now, room.not_of()]).await
}

/// Leases due deliveries to a run, up to its capacity, earliest due first. `run` must be a text that no other claim uses: a random
/// one.
pub async fn claim(
    tx: &mut Tx,
    now: Millis,
    lease_ms: i64,
    run: &str,
    room: SenderCapacity<'_>,
) -> Result<Vec<ClaimedDelivery>> {
    let values = args![now, i64::from(room.at_most), now + lease_ms, run, room.not_of()];
    let mut claimed: Vec<ClaimedDelivery> = tx.all(&CLAIM, values).await?;
    // Returned rows are in table order.
    claimed.sort_by_key(|one| (one.due_at, one.id));
    Ok(claimed)
}

records!(row => ClaimedDelivery {
    org = "org_no", id, event = "event_id", kind, url, job = "job_id", signer, created_at, attempts, tried,
    due_at = "next_at", run;
    content: content(row)?,
});

fn content(row: &ResultRow) -> Result<DeliveryContent> {
    if row.get::<Option<String>>("row_list")?.is_none() {
        return Ok(DeliveryContent::Bytes(row.get("body")?));
    }
    row.json("row_list").map(DeliveryContent::Rows)
}

/// Records the outcome of an attempt, and ends the lease. Keeps the previous outcome separately ([`before_the_last`]).
/// [`StoreError::LeaseLost`]: another run has the delivery, or it was ended.
pub async fn record(tx: &mut Tx, claimed: &ClaimedDelivery, attempt: &AttemptResult) -> Result<()> {
    if claimed.tried > 0 {
        tried::keep_last(tx, claimed).await?;
    }
    let id = claimed.id.to_string();
    // Endpoints may repeat the addresses that they were sent.
    let answer = &attempt.answer[..attempt.answer.len().min(ANSWER_MAX)];
    // An empty response stays empty: encrypted, it would look like content.
    let answer = if answer.is_empty() { None } else { Some(seal(tx, claimed.org, answer_of(&id), answer).await?) };
    let ClaimedDelivery { org, run, url, .. } = claimed;
    let AttemptResult { at, took_ms, error, state, next_at, .. } = attempt;
    let status = attempt.status.map(i64::from);
    let values = args![org, id, run, state, next_at, at, status, error, took_ms, answer, url];
    tx.change(&RECORD, values, StoreError::LeaseLost).await
}

/// Storage place of a delivery's response.
fn answer_of(id: &str) -> SealedField<'_> {
    SealedField::named("outbox.last_answer", id)
}

/// Returns untried deliveries of one claim, each deferred until a time. Those that the run no longer holds stay unchanged.
pub async fn defer(tx: &mut Tx, run: &str, until: &[(OrgNo, DeliveryId, Millis)]) -> Result<()> {
    if until.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> =
        until.iter().map(|(org, id, at)| json!({ "o": org.0, "d": id.to_string(), "at": at.0 })).collect();
    tx.execute(&DEFER, args![serde_json::Value::from(rows).to_string(), run]).await.map(drop)
}

/// Cancels deliveries of one claim. Those that the run no longer holds stay unchanged.
pub async fn cancel(tx: &mut Tx, run: &str, which: &[(OrgNo, DeliveryId)]) -> Result<()> {
    if which.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = which.iter().map(|(org, id)| json!({ "o": org.0, "d": id.to_string() })).collect();
    tx.execute(&CANCEL, args![serde_json::Value::from(rows).to_string(), run]).await.map(drop)
}
