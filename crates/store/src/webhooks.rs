//! Webhooks: customers' endpoints and their subscriptions.
//!
//! A webhook is created with a live or a test key, and only gets events about jobs of that mode. Its deliveries are stored in the
//! outbox ([`crate::webhooks::outbox`]) under its id, in the transaction of the event; [`listeners`] returns the webhooks to
//! notify. URL and secret are read at sending time ([`receivers`]), so changes apply to waiting deliveries, too.
//!
//! The store counts successes and failures ([`delivered`], [`failed`]); callers decide when a webhook has failed for too long.

pub mod callback_secret;
pub mod outbox;

use probity_account::id::{JobId, WebhookId};
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use serde_json::json;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::{self, OrgNo};
use crate::records::{ReadColumns as _, TypedStatements as _, records};

/// Webhook without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    pub org: OrgNo,
    pub id: WebhookId,
    /// Whether a test key created it.
    pub test: bool,
    pub name: String,
    /// Target URL, parsed and serialized: ASCII, at most 2,048 bytes.
    pub url: String,
    /// Subscribed events.
    pub events: Vec<Topic>,
    /// Whether it receives events.
    pub active: bool,
    pub created_at: Millis,
    /// Time of the last successful delivery.
    pub last_delivery_at: Option<Millis>,
}

/// Webhook to notify of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobWebhook {
    pub id: WebhookId,
    /// Current target URL.
    pub url: String,
    /// Subscribed events.
    pub events: Vec<Topic>,
    pub job: JobId,
}

/// Properties of a webhook for its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookReceiver {
    pub org: OrgNo,
    pub id: WebhookId,
    /// Current target URL.
    pub url: String,
    /// Whether it receives events.
    pub active: bool,
    /// Current secret, encrypted by the caller.
    pub secret: Vec<u8>,
    /// Previous secret, and the time until which it signs, too.
    pub previous: Option<(Vec<u8>, Millis)>,
}

/// Failures since the last successful delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookFailures {
    /// Time of the first failure.
    pub since: Millis,
    /// Deliveries whose attempts all failed.
    pub given_up: i64,
}

/// Columns of a webhook.
macro_rules! columns {
    () => {
        "org_no, id, test, name, url, events, active, created_at, last_delivery_at"
    };
}

statements! {
    COUNT = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM webhook WHERE org_no = $1 LIMIT $2) AS part) AS n";
    INSERT = "INSERT INTO webhook (org_no, id, test, name, url, active, created_at, events, secret) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    BY_ID = concat!("SELECT ", columns!(), " FROM webhook WHERE org_no = $1 AND id = $2 AND test = $3");
    LOCK = concat!("SELECT ", columns!(), " FROM webhook WHERE org_no = $1 AND id = $2 AND test = $3 {for_update}");
    PAGE = concat!("SELECT ", columns!(), " FROM webhook WHERE org_no = $1 AND test = $2 \
            AND (created_at < $3 OR (created_at = $3 AND id < $4)) ORDER BY created_at DESC, id DESC LIMIT $5");
    WRITE = "UPDATE webhook SET name = $3, url = $4, active = $5, events = $6 WHERE org_no = $1 AND id = $2";
    FORGIVE = "UPDATE webhook SET failing_since = NULL, given_up = 0 WHERE org_no = $1 AND id = $2";
    REMOVE = "DELETE FROM webhook WHERE org_no = $1 AND id = $2 AND test = $3";
    // Each expression of SET reads the old row.
    ROTATE = "UPDATE webhook SET secret = $4, \
              previous = CASE WHEN previous_until > $5 THEN previous ELSE secret END, \
              previous_until = CASE WHEN previous_until > $5 THEN previous_until ELSE $6 END \
              WHERE org_no = $1 AND id = $2 AND test = $3 RETURNING previous_until";
    LISTENERS = "SELECT w.id, w.url, w.events, j.id AS job_id FROM job j \
                 JOIN webhook w ON w.org_no = j.org_no AND w.test = j.test AND w.active = 1 \
                 WHERE j.org_no = $1 AND j.job_no = $2 ORDER BY w.id";
    SUBSCRIBERS = "SELECT id, url, events FROM webhook WHERE org_no = $1 AND test = $2 AND active = 1 ORDER BY id";
    RECEIVERS = "SELECT org_no, id, url, active, secret, previous, previous_until FROM webhook WHERE (org_no, id) IN \
                 (SELECT CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'i' FROM {each:$1})";
    DELIVERED = "UPDATE webhook SET last_delivery_at = $3, failing_since = NULL, given_up = 0 \
                 WHERE org_no = $1 AND id = $2";
    FAILED = "UPDATE webhook SET failing_since = COALESCE(failing_since, $3), given_up = given_up + $4 \
              WHERE org_no = $1 AND id = $2 RETURNING failing_since, given_up";
    DISABLE = "UPDATE webhook SET active = 0 WHERE org_no = $1 AND id = $2 AND active = 1";
    [callback_secret, outbox]
}

/// Creates a webhook. False: its organization already has `at_most`.
pub async fn insert(tx: &mut Tx, webhook: &WebhookEndpoint, secret: &[u8], at_most: i64) -> Result<bool> {
    // Concurrent creations wait for each other, so each counts the webhooks before it.
    number::lock(tx, webhook.org).await?;
    if tx.one::<i64>(&COUNT, args![webhook.org, at_most]).await? >= at_most {
        return Ok(false);
    }
    let values = args!(webhook => org, id, test, name, url, active, created_at; names(&webhook.events), secret);
    tx.execute(&INSERT, values).await?;
    Ok(true)
}

/// One webhook, for keys of its mode (live or test).
pub async fn by_id(conn: &mut Conn, org: OrgNo, id: WebhookId, test: bool) -> Result<WebhookEndpoint> {
    conn.one(&BY_ID, args![org, id, test]).await
}

/// As [`by_id`], locked until the transaction ends.
pub async fn lock(tx: &mut Tx, org: OrgNo, id: WebhookId, test: bool) -> Result<WebhookEndpoint> {
    tx.one(&LOCK, args![org, id, test]).await
}

/// Webhooks, newest first, after the last one of a page; at most `at_most`.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    after: Option<(Millis, WebhookId)>,
    at_most: i64,
) -> Result<Vec<WebhookEndpoint>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    conn.all(&PAGE, args![org, test, at, id, at_most]).await
}

/// Replaces name, URL, events and state of a locked webhook. Reactivation resets its failures.
pub async fn write(tx: &mut Tx, before: &WebhookEndpoint, after: &WebhookEndpoint) -> Result<()> {
    tx.execute(&WRITE, args!(after => org, id, name, url, active; names(&after.events))).await?;
    if after.active && !before.active {
        tx.execute(&FORGIVE, args!(after => org, id)).await?;
    }
    Ok(())
}

/// Removes a webhook. Its waiting deliveries are never sent.
pub async fn remove(tx: &mut Tx, org: OrgNo, id: WebhookId, test: bool) -> Result<()> {
    tx.change(&REMOVE, args![org, id, test], StoreError::NotFound).await
}

/// Makes `fresh` the secret. The previous one signs, too, until `previous_until`. If an earlier one still signs, it is kept and the
/// newer secret is dropped: the receiver was promised the older one until its end, which this returns.
pub async fn rotate(
    tx: &mut Tx,
    org: OrgNo,
    id: WebhookId,
    test: bool,
    fresh: &[u8],
    (now, previous_until): (Millis, Millis),
) -> Result<Millis> {
    tx.one(&ROTATE, args![org, id, test, fresh, now, previous_until]).await
}

/// Webhooks to notify of a job: the active ones of its organization and mode, with any topics.
pub async fn listeners(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Vec<JobWebhook>> {
    conn.all(&LISTENERS, args![org, job]).await
}

records!(row => JobWebhook { id, url, job = "job_id"; events: topics(row)? });

/// Active webhooks of an organization and mode that subscribe to a topic, with their URLs.
pub async fn subscribers(conn: &mut Conn, org: OrgNo, test: bool, topic: Topic) -> Result<Vec<(WebhookId, String)>> {
    let rows = conn.rows(&SUBSCRIBERS, args![org, test]).await?;
    let mut found = Vec::new();
    for row in &rows {
        if topics(row)?.contains(&topic) {
            found.push((row.read("id")?, row.get("url")?));
        }
    }
    Ok(found)
}

/// Returns those of these webhooks that exist, in any order.
pub async fn receivers(conn: &mut Conn, wanted: &[(OrgNo, WebhookId)]) -> Result<Vec<WebhookReceiver>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: Vec<_> = wanted.iter().map(|(org, id)| json!({ "o": org.0, "i": id.to_string() })).collect();
    conn.all(&RECEIVERS, args![json!(wanted).to_string()]).await
}

records!(row => WebhookReceiver {
    org = "org_no", id, url, active, secret;
    previous: row.read::<Option<_>>("previous")?.zip(row.read("previous_until")?),
});

/// Records a successful delivery.
pub async fn delivered(tx: &mut Tx, org: OrgNo, id: WebhookId, at: Millis) -> Result<()> {
    tx.execute(&DELIVERED, args![org, id, at]).await.map(drop)
}

/// Records a failed attempt, and whether it was the last one. `None`: the webhook no longer exists.
pub async fn failed(
    tx: &mut Tx,
    org: OrgNo,
    id: WebhookId,
    at: Millis,
    given_up: bool,
) -> Result<Option<WebhookFailures>> {
    tx.find(&FAILED, args![org, id, at, given_up]).await
}

records!(row => WebhookFailures { since = "failing_since", given_up });

/// Deactivates a webhook. False: it was inactive before.
pub async fn disable(tx: &mut Tx, org: OrgNo, id: WebhookId) -> Result<bool> {
    Ok(tx.execute(&DISABLE, args![org, id]).await? == 1)
}

fn names(topics: &[Topic]) -> String {
    let names: Vec<String> = topics.iter().map(ToString::to_string).collect();
    json!(names).to_string()
}

/// Topics known only to a newer version are omitted: this version never sends them.
fn topics(row: &ResultRow) -> Result<Vec<Topic>> {
    let names: Vec<String> = row.json("events")?;
    Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
}

records!(row => WebhookEndpoint {
    org = "org_no", id, test, name, url, active, created_at, last_delivery_at;
    events: topics(row)?,
});
