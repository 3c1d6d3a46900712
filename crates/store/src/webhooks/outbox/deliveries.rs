//! Delivery log: targets, outcomes, and resending.

use probity_account::id::{DeliveryId, EventId, JobId, WebhookId};
use probity_mail::time::{DAY_MS, HOUR_MS, Millis};

use super::{DeliveryContent, OutboxState, tried};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Statement, StatementArgs, Tx, args, statements};
use crate::nodes::wake::{self, WakeUp};
use crate::number::OrgNo;
use crate::privacy::sealing::unseal;
use crate::records::{TypedStatements as _, record};

/// Maximum of the count of waiting deliveries.
const COUNTED_MAX: i64 = 10_000;

/// Columns of a delivery.
macro_rules! columns {
    () => {
        "id, event_id, kind, url, signer, state, attempts, next_at, first_at, last_at, last_status, last_error, last_took_ms, \
         last_answer, created_at, job_id, row_list, body"
    };
}

statements! {
    // Newest first; ids of the same millisecond differ in their random part.
    PAGE = concat!("SELECT ", columns!(), " FROM outbox
        WHERE org_no = $1 AND (created_at < $2 OR (created_at = $2 AND id < $3))
            AND (CAST($4 AS TEXT) IS NULL OR state = $4)
        ORDER BY created_at DESC, id DESC LIMIT $5");
    OF_SIGNER = concat!("SELECT ", columns!(), " FROM outbox
        WHERE org_no = $1 AND signer = $2 AND signer <> '' AND (created_at < $3 OR (created_at = $3 AND id < $4))
            AND (CAST($5 AS TEXT) IS NULL OR state = $5)
        ORDER BY created_at DESC, id DESC LIMIT $6");
    BY_ID = concat!("SELECT ", columns!(), " FROM outbox WHERE org_no = $1 AND id = $2");
    BY_HOUR = "SELECT created_at / $4 AS at_hour, state, COUNT(*) AS deliveries FROM (SELECT created_at, state FROM outbox
            WHERE org_no = $1 AND signer = $2 AND signer <> '' AND created_at >= $3
            ORDER BY created_at DESC, id DESC LIMIT $5) AS newest GROUP BY created_at / $4, state";
    RESEND = "UPDATE outbox SET state = 'waiting', attempts = 0, next_at = $3, lease_until = NULL, run = NULL
        WHERE org_no = $1 AND id = $2";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, id FROM outbox WHERE state <> 'waiting' AND created_at < $1
            ORDER BY created_at LIMIT $2 {skip_locked})
        DELETE FROM outbox WHERE (org_no, id) IN (SELECT org_no, id FROM old) RETURNING org_no, id";
    REMOVE_OF_SIGNER = "DELETE FROM outbox WHERE org_no = $1 AND id IN (SELECT o.id FROM outbox o
        WHERE o.org_no = $1 AND o.signer = $2 AND o.signer <> '' LIMIT $3) RETURNING org_no, id";
    PURGE_ROWS = "WITH old AS MATERIALIZED (
            SELECT org_no, id FROM outbox WHERE state <> 'waiting' AND row_list IS NOT NULL AND created_at < $1
            ORDER BY created_at LIMIT $2 {skip_locked})
        DELETE FROM outbox WHERE (org_no, id) IN (SELECT org_no, id FROM old) RETURNING org_no, id";
    // By each organization's retention setting. Without an order, it stops at the limit.
    OF_SHORTER = "SELECT o.org_no, o.id FROM org_settings s CROSS JOIN outbox o WHERE o.org_no = s.org_no
            AND s.delivery_retention_days IS NOT NULL AND o.state <> 'waiting'
            AND o.created_at < $1 - s.delivery_retention_days * $2
        LIMIT $3";
    // Checked again: it may have been resent, or its organization may have changed the setting.
    PURGE_SHORTER = "DELETE FROM outbox WHERE (org_no, id) IN
            (SELECT CAST(each.value ->> 0 AS BIGINT), each.value ->> 1 FROM {each:$1})
        AND state <> 'waiting' AND created_at < $2 - $3 *
            (SELECT s.delivery_retention_days FROM org_settings s WHERE s.org_no = outbox.org_no)
        RETURNING org_no, id";
    COUNT_WAITING = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM outbox WHERE state = 'waiting' LIMIT $1) AS part) AS waiting";
    // Kind and state match those of the index.
    TESTS_WAITING = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM outbox
        WHERE org_no = $1 AND signer = $2 AND kind = 'test' AND state = 'waiting' LIMIT $3) AS part) AS waiting";
    FIRST_DUE = "SELECT next_at FROM outbox WHERE state = 'waiting' ORDER BY next_at LIMIT 1";
}

/// Delivery as shown in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedDelivery {
    pub id: DeliveryId,
    /// Event that it reports.
    pub event: EventId,
    /// Event type.
    pub kind: String,
    /// Target URL, at present or at the last attempt.
    pub url: String,
    pub content: DeliveryContent,
    /// Job that it is about.
    pub job: Option<JobId>,
    pub signer: String,
    pub state: OutboxState,
    /// Finished attempts since it was last resent.
    pub attempts: i64,
    /// Time of the next attempt, if it waits.
    pub next_at: Millis,
    /// Time of the first attempt.
    pub first_at: Option<Millis>,
    /// Time of the last attempt.
    pub last_at: Option<Millis>,
    pub last_status: Option<i64>,
    /// Reason why the last attempt got no response: for the operator. Customers must see no difference between reasons, including
    /// their durations.
    pub last_error: Option<String>,
    /// Duration of the last attempt, in milliseconds.
    pub last_took_ms: Option<i64>,
    /// Beginning of the last response body.
    pub last_answer: Vec<u8>,
    /// Time when it was added to the outbox.
    pub created_at: Millis,
}

/// Size of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxDepth {
    /// Waiting deliveries, counted up to 10,000.
    pub waiting: i64,
    /// Due time of the first one.
    pub first_due_at: Option<Millis>,
}

/// Deliveries of an organization, newest first, after the last one of a page; at most `at_most`, and of one state if that is given.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    state: Option<OutboxState>,
    after: Option<(Millis, DeliveryId)>,
    at_most: i64,
) -> Result<Vec<LoggedDelivery>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    let rows = conn.rows(&PAGE, args![org, at, id, state, at_most]).await?;
    read_all(conn, org, &rows).await
}

/// Deliveries to a webhook; otherwise as [`page`].
pub async fn of_webhook(
    conn: &mut Conn,
    org: OrgNo,
    webhook: WebhookId,
    state: Option<OutboxState>,
    after: Option<(Millis, DeliveryId)>,
    at_most: i64,
) -> Result<Vec<LoggedDelivery>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    let values = args![org, webhook, at, id, state, at_most];
    let rows = conn.rows(&OF_SIGNER, values).await?;
    read_all(conn, org, &rows).await
}

/// Numbers of a webhook's newest deliveries by state and by hour of their creation (since 1970), from a time on.
pub async fn by_hour(
    conn: &mut Conn,
    org: OrgNo,
    webhook: WebhookId,
    from: Millis,
) -> Result<Vec<(i64, OutboxState, i64)>> {
    conn.all(&BY_HOUR, args![org, webhook, from, HOUR_MS, COUNTED_MAX]).await
}

pub async fn by_id(conn: &mut Conn, org: OrgNo, id: DeliveryId) -> Result<LoggedDelivery> {
    let row = conn.first(&BY_ID, args![org, id]).await?.ok_or(StoreError::NotFound)?;
    read(conn, org, &row).await
}

/// Makes a delivery due now, with all its attempts, in any state. An attempt in progress continues and is not recorded.
/// [`StoreError::NotFound`]: it does not exist.
pub async fn resend(tx: &mut Tx, org: OrgNo, id: DeliveryId, now: Millis) -> Result<()> {
    tx.change(&RESEND, args![org, id, now], StoreError::NotFound).await?;
    wake::ring(tx, WakeUp::Outbox).await
}

/// Removes up to `at_most` deliveries that do not wait and were created before a time, oldest first, with their attempts; returns
/// the number removed.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    removed(tx, &PURGE, args![before, at_most]).await
}

/// As [`purge`], for deliveries about rows: endpoints may have repeated their content.
pub async fn purge_rows(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    removed(tx, &PURGE_ROWS, args![before, at_most]).await
}

/// Removes deliveries with their attempts; returns the number removed.
async fn removed(tx: &mut Tx, statement: &'static Statement, args: StatementArgs) -> Result<u64> {
    let removed: Vec<(OrgNo, String)> = tx.all(statement, args).await?;
    tried::forget(tx, &removed).await?;
    Ok(u64::try_from(removed.len()).unwrap_or(u64::MAX))
}

/// Finished deliveries older than their organization's retention, in any order.
pub async fn kept_too_long(conn: &mut Conn, now: Millis, at_most: u32) -> Result<Vec<(OrgNo, String)>> {
    conn.all(&OF_SHORTER, args![now, DAY_MS, at_most]).await
}

/// Removes those of these deliveries that still exceed their retention, with their attempts; returns the number removed.
pub async fn purge_kept_too_long(tx: &mut Tx, messages: &[(OrgNo, String)], now: Millis) -> Result<u64> {
    let messages = tried::pairs(messages);
    removed(tx, &PURGE_SHORTER, args![messages, now, DAY_MS]).await
}

/// Removes up to `at_most` deliveries to a deleted webhook with their attempts, including waiting ones and those in progress;
/// returns the number removed.
pub async fn remove_of_webhook(tx: &mut Tx, org: OrgNo, webhook: WebhookId, at_most: u32) -> Result<u64> {
    removed(tx, &REMOVE_OF_SIGNER, args![org, webhook, at_most]).await
}

/// Number of waiting deliveries of the kind [`super::TEST`] to a webhook, counted up to `at_most`.
pub async fn tests_waiting(conn: &mut Conn, org: OrgNo, webhook: WebhookId, at_most: i64) -> Result<i64> {
    conn.one(&TESTS_WAITING, args![org, webhook, at_most]).await
}

/// Size of the queue, for the metrics.
pub async fn depth(conn: &mut Conn) -> Result<OutboxDepth> {
    let waiting = conn.one(&COUNT_WAITING, args![COUNTED_MAX]).await?;
    Ok(OutboxDepth { waiting, first_due_at: conn.find(&FIRST_DUE, args![]).await? })
}

async fn read_all(conn: &mut Conn, org: OrgNo, rows: &[ResultRow]) -> Result<Vec<LoggedDelivery>> {
    let mut logged = Vec::with_capacity(rows.len());
    for row in rows {
        logged.push(read(conn, org, row).await?);
    }
    Ok(logged)
}

async fn read(conn: &mut Conn, org: OrgNo, row: &ResultRow) -> Result<LoggedDelivery> {
    let id: String = row.get("id")?;
    let answer = row.get::<Option<Vec<u8>>>("last_answer")?.unwrap_or_default();
    let last_answer = unseal(conn, org, super::answer_of(&id), answer).await?;
    Ok(record!(row => LoggedDelivery {
        id, event = "event_id", kind, url, job = "job_id", signer, state, attempts, next_at, first_at, last_at,
        last_status, last_error, last_took_ms, created_at;
        content: super::content(row)?,
        last_answer,
    }))
}
