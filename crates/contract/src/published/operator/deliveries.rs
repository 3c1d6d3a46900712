//! Deliveries as the operator sees them: with the reason why a receiver was not reached, which customers do not see.

use probity_account::id::{DeliveryId, EventId};
use probity_store::webhooks::outbox::{DeliveryContent, EarlierAttempt, LoggedDelivery, OutboxState};
use serde::Serialize;

use crate::timestamp::Timestamp;

/// A delivery.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryRecord {
    pub id: DeliveryId,
    /// Event ID, which the receiver sees as `webhook-id`.
    pub event: EventId,
    /// Type of the event.
    pub kind: String,
    /// Webhook ID; null for a job's callback.
    pub webhook: Option<String>,
    pub url: String,
    pub state: &'static str,
    /// Finished attempts.
    pub attempts: i64,
    /// Next attempt; null if none is pending.
    pub next_at: Option<Timestamp>,
    /// Last attempt.
    pub last_at: Option<Timestamp>,
    pub last_status: Option<i64>,
    /// Why the last attempt got no response.
    pub last_error: Option<String>,
    /// Duration of the last attempt, in milliseconds.
    pub last_took_ms: Option<i64>,
    pub created_at: Timestamp,
}

/// A delivery with its body and its attempts.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryRecordDetail {
    #[serde(flatten)]
    pub delivery: DeliveryRecord,
    /// First attempt.
    pub first_at: Option<Timestamp>,
    /// Body to send; for a delivery about rows, the range of the rows.
    pub body: String,
    /// Start of the last response's body.
    pub last_answer: String,
    /// Attempts before the last, newest first.
    pub earlier_attempts: Vec<LoggedAttempt>,
}

/// An attempt before the last.
#[derive(Clone, Debug, Serialize)]
pub struct LoggedAttempt {
    /// Start of the attempt.
    pub at: Timestamp,
    pub url: String,
    /// HTTP status of the response.
    pub status: Option<i64>,
    /// Why there was no response.
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub took_ms: i64,
    /// Start of the response's body.
    pub answer: String,
}

impl From<LoggedDelivery> for DeliveryRecord {
    fn from(logged: LoggedDelivery) -> Self {
        Self {
            id: logged.id,
            event: logged.event,
            kind: logged.kind,
            webhook: Some(logged.signer).filter(|signer| !signer.is_empty()),
            url: logged.url,
            state: logged.state.as_str(),
            attempts: logged.attempts,
            next_at: (logged.state == OutboxState::Waiting).then_some(logged.next_at.into()),
            last_at: logged.last_at.map(Into::into),
            last_status: logged.last_status,
            last_error: logged.last_error,
            last_took_ms: logged.last_took_ms,
            created_at: logged.created_at.into(),
        }
    }
}

impl DeliveryRecordDetail {
    pub fn of(logged: LoggedDelivery, earlier: Vec<EarlierAttempt>) -> Self {
        let body = match (&logged.content, logged.job) {
            (DeliveryContent::Bytes(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
            (DeliveryContent::Rows(rows), Some(job)) => format!("rows {rows:?} of {job}"),
            (DeliveryContent::Rows(rows), None) => format!("rows {rows:?}"),
        };
        Self {
            first_at: logged.first_at.map(Into::into),
            body,
            last_answer: String::from_utf8_lossy(&logged.last_answer).into_owned(),
            earlier_attempts: earlier.into_iter().map(LoggedAttempt::from).collect(),
            delivery: logged.into(),
        }
    }
}

impl From<EarlierAttempt> for LoggedAttempt {
    fn from(tried: EarlierAttempt) -> Self {
        Self {
            at: tried.at.into(),
            url: tried.url,
            status: tried.status,
            error: tried.error,
            took_ms: tried.took_ms,
            answer: String::from_utf8_lossy(&tried.answer).into_owned(),
        }
    }
}
