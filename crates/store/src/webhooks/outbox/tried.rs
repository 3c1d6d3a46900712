//! Earlier attempts of deliveries.
//!
//! The last attempt's outcome is stored in the delivery's own row; recording the next one moves it here. So a delivery that is
//! accepted at once, as most are, costs nothing extra. If a delivery is resent again and again, the newest attempts are kept.

use std::collections::BTreeMap;

use probity_account::id::DeliveryId;
use probity_mail::time::Millis;
use serde_json::json;

use super::ClaimedDelivery;
use crate::db::error::Result;
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::records::{ReadColumns as _, listed, record};

/// Attempts kept per delivery, including the last: those of two whole schedules and more.
pub const ATTEMPTS_MAX: i64 = 20;
/// Maximum bytes of the response stored for an earlier attempt.
pub const EARLIER_ANSWER_MAX: usize = 512;

statements! {
    LAST = "SELECT tried, last_at, url, last_status, last_error, last_took_ms, last_answer FROM outbox
        WHERE org_no = $1 AND id = $2 AND run = $3 AND state = 'waiting' AND last_at IS NOT NULL {for_update}";
    KEEP = "INSERT INTO outbox_attempt (org_no, id, attempt_no, at, url, status, error, took_ms, answer)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (org_no, id, attempt_no) DO NOTHING";
    FORGET_FIRST = "DELETE FROM outbox_attempt WHERE org_no = $1 AND id = $2 AND attempt_no <= $3";
    OF_MESSAGES = "SELECT id, attempt_no, at, url, status, error, took_ms, answer FROM outbox_attempt
        WHERE org_no = $1 AND id IN (SELECT each.value ->> 0 FROM {each:$2}) ORDER BY attempt_no DESC";
    FORGET = "DELETE FROM outbox_attempt WHERE (org_no, id) IN
        (SELECT CAST(each.value ->> 0 AS BIGINT), each.value ->> 1 FROM {each:$1})";
}

/// Attempt before the last one of its delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierAttempt {
    pub at: Millis,
    pub url: String,
    /// HTTP status, if there was a response.
    pub status: Option<i64>,
    /// Reason for the missing response: for the operator, as [`super::LoggedDelivery::last_error`].
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub took_ms: i64,
    /// Beginning of the response body, at most [`EARLIER_ANSWER_MAX`] bytes.
    pub answer: Vec<u8>,
}

/// Stores the outcome of a delivery's last attempt before the next one is recorded. No effect if the lease is lost.
pub(super) async fn keep_last(tx: &mut Tx, claimed: &ClaimedDelivery) -> Result<()> {
    let id = claimed.id.to_string();
    let Some(last) = tx.first(&LAST, args!(claimed => org, id, run)).await? else { return Ok(()) };
    let answer = last.get::<Option<Vec<u8>>>("last_answer")?.unwrap_or_default();
    let mut answer = unseal(tx, claimed.org, super::answer_of(&id), answer).await?;
    answer.truncate(EARLIER_ANSWER_MAX);
    let no: i64 = last.get("tried")?;
    // Empty stays empty, so that an erasure can recognize it.
    if !answer.is_empty() {
        answer = seal(tx, claimed.org, answer_of(&id, no), &answer).await?.into_owned();
    }
    let EarlierAttempt { at, url, status, error, took_ms, answer } = record!(last => EarlierAttempt {
        at = "last_at", url, status = "last_status", error = "last_error";
        took_ms: last.get::<Option<i64>>("last_took_ms")?.unwrap_or_default(),
        answer,
    });
    tx.execute(&KEEP, args![claimed.org, &id, no, at, url, status, error, took_ms, answer]).await?;
    // Counts this attempt and the one being recorded.
    let gone = no + 1 - ATTEMPTS_MAX;
    if gone > 0 {
        tx.execute(&FORGET_FIRST, args![claimed.org, id, gone]).await?;
    }
    Ok(())
}

/// Storage place of an earlier attempt's response: endpoints may repeat the addresses that they were sent.
fn answer_of(id: &str, attempt_no: i64) -> SealedField<'_> {
    SealedField::named_and_numbered("outbox_attempt.answer", id, attempt_no)
}

/// Earlier attempts of these deliveries, newest first for each; deliveries without any are omitted.
pub async fn before_the_last(
    conn: &mut Conn,
    org: OrgNo,
    messages: &[DeliveryId],
) -> Result<BTreeMap<DeliveryId, Vec<EarlierAttempt>>> {
    let mut tried: BTreeMap<DeliveryId, Vec<EarlierAttempt>> = BTreeMap::new();
    if messages.is_empty() {
        return Ok(tried);
    }
    for row in conn.rows(&OF_MESSAGES, args![org, listed(messages)]).await? {
        let one = read(conn, org, &row).await?;
        tried.entry(row.read("id")?).or_default().push(one);
    }
    Ok(tried)
}

/// Removes the attempts of removed deliveries, which these rows name.
pub(super) async fn forget(tx: &mut Tx, removed: &[(OrgNo, String)]) -> Result<()> {
    if removed.is_empty() {
        return Ok(());
    }
    tx.execute(&FORGET, args![pairs(removed)]).await.map(drop)
}

/// Encodes the keys of deliveries as JSON, each as an array of organization and id.
pub(super) fn pairs(messages: &[(OrgNo, String)]) -> String {
    json!(messages.iter().map(|(org, id)| json!([org.0, id])).collect::<Vec<_>>()).to_string()
}

async fn read(conn: &mut Conn, org: OrgNo, row: &ResultRow) -> Result<EarlierAttempt> {
    let id: String = row.get("id")?;
    let answer = unseal(conn, org, answer_of(&id, row.get("attempt_no")?), row.get("answer")?).await?;
    Ok(record!(row => EarlierAttempt { at, url, status, error, took_ms; answer }))
}
