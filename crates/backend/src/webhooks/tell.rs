//! Deliveries to webhooks, added in the transaction of their event.
//!
//! An organization without an active webhook costs one index lookup. The ID of an event is derived from its subject, so that a
//! transaction repeated after an unacknowledged commit adds nothing twice. Deliveries about rows contain row numbers and no
//! addresses; [`super::rows`] reads the rows when they are sent. Rows that are erased or purged before that are not reported.

use probity_account::id::WebhookId;
use probity_account::webhook::{ContactChange, Topic};
use probity_contract::published::connections::ConnectionShown;
use probity_contract::published::jobs::JobView;
use probity_contract::timestamp::Timestamp;
use probity_mail::time::Millis;
use probity_store::connections::connection::StoredConnection;
use probity_store::jobs::{ChunkFence, ClosedJob, JobNo, RowResult};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use probity_store::webhooks::{self, JobWebhook};
use probity_store::{OrgNo, Result, Tx};
use serde::Serialize;

use crate::webhooks::{JOB_FINISHED, TEST, callback, event_id};

/// Maximum number of rows in one delivery.
pub const ROWS_MAX: usize = 100;

/// Body of every delivery to a webhook.
#[derive(Debug, Serialize)]
pub struct Body<T> {
    /// Type of the event, as in the subscription.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time of the event.
    pub timestamp: Timestamp,
    /// Subject of the event.
    pub data: T,
}

impl<T: Serialize> Body<T> {
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("messages are plain JSON")
    }
}

/// Adds deliveries about settled rows: one for each topic and 100 rows. Returns whether there are any. Sends no wake-up to
/// other nodes, because a job is settled many times.
pub async fn rows_settled(tx: &mut Tx, fence: &ChunkFence, results: &[RowResult], now: Millis) -> Result<bool> {
    if results.is_empty() {
        return Ok(false);
    }
    let listeners = webhooks::listeners(tx, fence.org, fence.job).await?;
    let messages = about_rows(fence.org, &listeners, results, now);
    Ok(outbox::put_quietly(tx, &messages).await? > 0)
}

fn about_rows(org: OrgNo, listeners: &[JobWebhook], results: &[RowResult], now: Millis) -> Vec<NewDelivery> {
    let mut messages = Vec::new();
    for listener in listeners {
        for topic in listener.events.iter().filter(|topic| topic.is_of_rows()) {
            let of_topic = results.iter().filter(|result| topic.has_row(result.kind.reason));
            messages.extend(of_rows(org, listener, *topic, of_topic.map(|result| result.idx).collect(), now));
        }
    }
    messages
}

/// Adds deliveries about contacts of a run that were changed at their platform: one for each change and 100 rows. Returns whether
/// there are any.
pub async fn contacts_changed(
    tx: &mut Tx,
    (org, job): (OrgNo, JobNo),
    changed: &[(i64, ContactChange)],
    now: Millis,
) -> Result<bool> {
    if changed.is_empty() {
        return Ok(false);
    }
    let listeners = webhooks::listeners(tx, org, job).await?;
    let mut messages = Vec::new();
    for listener in &listeners {
        for change in ContactChange::ALL.into_iter().filter(|one| listener.events.contains(&Topic::Contact(*one))) {
            let rows = changed.iter().filter(|(_, one)| *one == change).map(|(idx, _)| *idx).collect();
            messages.extend(of_rows(org, listener, Topic::Contact(change), rows, now));
        }
    }
    Ok(outbox::put_quietly(tx, &messages).await? > 0)
}

/// Creates the deliveries about rows.
fn of_rows(org: OrgNo, listener: &JobWebhook, topic: Topic, mut rows: Vec<i64>, now: Millis) -> Vec<NewDelivery> {
    rows.sort_unstable();
    let message = |rows: &[i64]| {
        let kind = topic.to_string();
        let event = event_id(&kind, &format!("{}{rows:?}", listener.job));
        NewDelivery { event, kind, content: DeliveryContent::Rows(rows.to_vec()), ..to(org, listener, Vec::new(), now) }
    };
    rows.chunks(ROWS_MAX).map(message).collect()
}

/// Returns the webhooks subscribed to finished jobs.
pub async fn of_finished_jobs(tx: &mut Tx, closed: &ClosedJob) -> Result<Vec<JobWebhook>> {
    let mut listeners = webhooks::listeners(tx, closed.org, closed.job).await?;
    listeners.retain(|listener| listener.events.contains(&Topic::JobFinished));
    Ok(listeners)
}

/// Adds their deliveries. The event is not that of the job's callback, which has another body: one server may receive both.
pub async fn job_finished(tx: &mut Tx, org: OrgNo, listeners: &[JobWebhook], job: &JobView, now: Millis) -> Result<()> {
    let body = Body { kind: JOB_FINISHED.to_owned(), timestamp: now.into(), data: job }.to_bytes();
    let message = |listener: &JobWebhook| NewDelivery {
        event: event_id(JOB_FINISHED, &format!("webhooks {}", listener.job)),
        ..to(org, listener, body.clone(), now)
    };
    let messages: Vec<NewDelivery> = listeners.iter().map(message).collect();
    outbox::put_all(tx, &messages).await.map(drop)
}

/// Adds deliveries about a connection whose credentials the platform refuses.
pub async fn connection_lost(tx: &mut Tx, of: &StoredConnection, now: Millis) -> Result<()> {
    let topic = Topic::ConnectionDisconnected;
    let kind = topic.to_string();
    let event = event_id(&kind, &format!("{} {}", of.id, now.0));
    let body = Body { kind: kind.clone(), timestamp: now.into(), data: ConnectionShown::from(of.clone()) }.to_bytes();
    let message = |(id, url): (WebhookId, String)| NewDelivery {
        event,
        signer: id.to_string(),
        ..callback(of.org, &kind, &url, body.clone(), now)
    };
    let messages: Vec<_> = webhooks::subscribers(tx, of.org, of.test, topic).await?.into_iter().map(message).collect();
    outbox::put_all(tx, &messages).await.map(drop)
}

/// Subject of a test delivery.
#[derive(Debug, Serialize)]
struct Tested {
    webhook_id: WebhookId,
}

/// Creates a test delivery. Each one is a separate event.
pub fn test(org: OrgNo, id: WebhookId, url: &str, now: Millis) -> NewDelivery {
    let body = Body { kind: TEST.to_owned(), timestamp: now.into(), data: Tested { webhook_id: id } };
    NewDelivery { signer: id.to_string(), ..callback(org, TEST, url, body.to_bytes(), now) }
}

/// Creates a delivery about a finished job.
fn to(org: OrgNo, listener: &JobWebhook, body: Vec<u8>, now: Millis) -> NewDelivery {
    let (job, signer) = (Some(listener.job), listener.id.to_string());
    NewDelivery { job, signer, ..callback(org, JOB_FINISHED, &listener.url, body, now) }
}

#[cfg(test)]
mod tests {
    use probity_account::id::JobId;
    use probity_mail::verdict::{Reason, Status};
    use probity_store::jobs::OutcomeKind;

    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);
    const ORG: OrgNo = OrgNo(1);

    fn listener(n: u128, events: &[Topic]) -> JobWebhook {
        let (id, url) = (WebhookId::from_bits(n), "https://hooks.example.com/".into());
        JobWebhook { id, url, events: events.to_vec(), job: JobId::from_bits(7) }
    }

    fn result(idx: i64, reason: Reason) -> RowResult {
        let kind = OutcomeKind {
            reason,
            findings: Vec::new(),
            meta: String::new(),
            rule: "rule".into(),
            smtp_code: None,
            enhanced: None,
            host: None,
            provider: None,
            source: "smtp".into(),
            flags: 0,
            charged: true,
        };
        RowResult { idx, copies: 1, kind: kind.into(), suggestion: None }
    }

    fn rows(message: &NewDelivery) -> &[i64] {
        let DeliveryContent::Rows(rows) = &message.content else { panic!("it names rows") };
        rows
    }

    #[test]
    fn each_topic_has_its_rows_in_order_and_by_the_hundred() {
        let mut results: Vec<RowResult> = (0..250).map(|idx| result(250 - idx, Reason::Valid)).collect();
        results.push(result(900, Reason::Nonexistent));
        let passed = Topic::Status(Status::Passed);
        let listeners = [
            listener(1, &[passed, Topic::Reason(Reason::Nonexistent), Topic::JobFinished]),
            listener(2, &[Topic::Status(Status::Risky)]),
        ];
        let messages = about_rows(ORG, &listeners, &results, NOW);
        let told: Vec<_> = messages.iter().map(|one| (one.kind.as_str(), rows(one).len(), rows(one)[0])).collect();
        let expected = [("status.passed", 100, 1), ("status.passed", 100, 101), ("status.passed", 50, 201)];
        assert_eq!(told[..3], expected);
        assert_eq!(told[3..], [("reason.nonexistent", 1, 900)]);
    }

    #[test]
    fn the_same_rows_are_the_same_event_to_everybody_at_every_time() {
        let listeners = [listener(1, &[Topic::Status(Status::Passed)]), listener(2, &[Topic::Status(Status::Passed)])];
        let results = [result(1, Reason::Valid), result(2, Reason::Valid)];
        let swapped = [result(2, Reason::Valid), result(1, Reason::Valid)];
        let first = about_rows(ORG, &listeners, &results, NOW);
        let second = about_rows(ORG, &listeners, &swapped, NOW + 5);
        assert_eq!(first.len(), 2);
        assert_eq!([first[0].event; 4], [first[0].event, first[1].event, second[0].event, second[1].event]);
        assert_ne!(first[0].event, about_rows(ORG, &listeners, &results[..1], NOW)[0].event);
        let by_reason = [listener(1, &[Topic::Reason(Reason::Valid)])];
        assert_ne!(first[0].event, about_rows(ORG, &by_reason, &results, NOW)[0].event, "another name, another event");
    }
}
