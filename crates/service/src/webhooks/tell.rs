//! Messages to webhooks, made in the transaction of what they tell of.
//!
//! An organization without an active webhook costs one look into an index. What belongs to one event has one id, made of what
//! it tells of: whoever does the same transaction twice, because nobody said whether the first stood, puts nothing twice.
//! Messages about rows name rows and hold no addresses ([`super::rows`] reads them when it sends): what is erased or purged
//! meanwhile is not told.

use probity_account::id::WebhookId;
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use probity_store::jobs::{Closed, Fence, RowResult};
use probity_store::outbox::{self, Content, Delivery};
use probity_store::webhooks::{self, Listener};
use probity_store::{OrgNo, Result, Tx};
use serde::Serialize;

use crate::published::jobs::JobView;
use crate::timestamp::Timestamp;
use crate::webhooks::{JOB_FINISHED, TEST, event_id};

/// Rows that one message tells of at most.
pub(crate) const ROWS_MAX: usize = 100;

/// The body of every message to a webhook.
#[derive(Debug, Serialize)]
pub(crate) struct Body<T> {
    /// What happened, by the name that the webhook asked for.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// When it happened.
    pub(crate) timestamp: Timestamp,
    /// What it is about.
    pub data: T,
}

impl<T: Serialize> Body<T> {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("messages are plain JSON")
    }
}

/// Tells of rows that were settled: one message for each topic and hundred rows. True: there is something to send. No bell
/// is rung for it: a job is settled many times.
pub(crate) async fn rows_settled(tx: &mut Tx, fence: &Fence, results: &[RowResult], now: Millis) -> Result<bool> {
    if results.is_empty() {
        return Ok(false);
    }
    let listeners = webhooks::listeners(tx, fence.org, fence.job).await?;
    let messages = about_rows(fence.org, &listeners, results, now);
    Ok(outbox::put_quietly(tx, &messages).await? > 0)
}

fn about_rows(org: OrgNo, listeners: &[Listener], results: &[RowResult], now: Millis) -> Vec<Delivery> {
    let mut messages = Vec::new();
    for listener in listeners {
        for topic in listener.events.iter().filter(|topic| topic.is_of_rows()) {
            let of_topic = results.iter().filter(|result| topic.has_row(result.kind.reason));
            let mut rows: Vec<i64> = of_topic.map(|result| result.idx).collect();
            rows.sort_unstable();
            for rows in rows.chunks(ROWS_MAX) {
                let kind = topic.to_string();
                let event = event_id(&kind, &format!("{}{rows:?}", listener.job));
                let content = Content::Rows(rows.to_vec());
                messages.push(Delivery { event, kind, content, ..to(org, listener, now) });
            }
        }
    }
    messages
}

/// The webhooks that are to be told that a job is over.
pub(crate) async fn of_finished_jobs(tx: &mut Tx, closed: &Closed) -> Result<Vec<Listener>> {
    let mut listeners = webhooks::listeners(tx, closed.org, closed.job).await?;
    listeners.retain(|listener| listener.events.contains(&Topic::JobFinished));
    Ok(listeners)
}

/// Tells them. The event is not that of the batch's own URL, which gets another body: one server may be both.
pub async fn job_finished(tx: &mut Tx, org: OrgNo, listeners: &[Listener], job: &JobView, now: Millis) -> Result<()> {
    let body = Body { kind: JOB_FINISHED.to_owned(), timestamp: now.into(), data: job }.to_bytes();
    let message = |listener: &Listener| Delivery {
        event: event_id(JOB_FINISHED, &format!("webhooks {}", listener.job)),
        content: Content::Bytes(body.clone()),
        ..to(org, listener, now)
    };
    let messages: Vec<Delivery> = listeners.iter().map(message).collect();
    outbox::put_all(tx, &messages).await.map(drop)
}

/// What a test message is about.
#[derive(Debug, Serialize)]
struct Tested {
    webhook_id: WebhookId,
}

/// The message that somebody asks for to try a webhook. Each is an event of its own.
pub(crate) fn test(org: OrgNo, id: WebhookId, url: &str, now: Millis) -> Delivery {
    let body = Body { kind: TEST.to_owned(), timestamp: now.into(), data: Tested { webhook_id: id } };
    Delivery {
        org,
        id: crate::random::id(now),
        event: crate::random::id(now),
        kind: TEST.to_owned(),
        url: url.to_owned(),
        content: Content::Bytes(body.to_bytes()),
        job: None,
        signer: id.to_string(),
        created_at: now,
    }
}

/// An empty message about a finished job, to be filled in.
fn to(org: OrgNo, listener: &Listener, now: Millis) -> Delivery {
    Delivery {
        org,
        id: crate::random::id(now),
        event: crate::random::id(now),
        kind: JOB_FINISHED.to_owned(),
        url: listener.url.clone(),
        content: Content::Bytes(Vec::new()),
        job: Some(listener.job),
        signer: listener.id.to_string(),
        created_at: now,
    }
}

#[cfg(test)]
mod tests {
    use probity_account::id::JobId;
    use probity_mail::verdict::{Reason, Status};
    use probity_store::jobs::Kind;

    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);
    const ORG: OrgNo = OrgNo(1);

    fn listener(n: u128, events: &[Topic]) -> Listener {
        let (id, url) = (WebhookId::from_bits(n), "https://hooks.example.com/".into());
        Listener { id, url, events: events.to_vec(), job: JobId::from_bits(7) }
    }

    fn result(idx: i64, reason: Reason) -> RowResult {
        let kind = Kind {
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

    fn rows(message: &Delivery) -> &[i64] {
        let Content::Rows(rows) = &message.content else { panic!("it names rows") };
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
