//! One attempt: what is sent and what signs it, what came of it, and what follows.
//!
//! After a failure a message is sent again by [`SCHEDULE_MS`]; a message that somebody sends to try a webhook is not. Customers
//! see when: where nobody answered, that time is the same whether a port was closed or a host was silent. An attempt
//! and what it says of its webhook ([`super::health`]) are written in one transaction.
//!
//! What fails on this side is of two kinds. Where the database is away or this machine is at its limits, nothing was tried, and it
//! is tried soon. A message that cannot be made (its secret does not open, a block of its job is damaged, only a newer version
//! knows who signs it) counts as tried: another node may do better, but it does not come back for ever. It says nothing of the
//! webhook.

use std::sync::Arc;
use std::time::Duration;

use probity_mail::time::Millis;
use probity_store::outbox::{self, Attempt, Claimed, Content, State};
use probity_store::webhooks::Receiver;
use probity_store::{ScopedFutureExt as _, StoreError};
use tokio::sync::Semaphore;

use crate::error::Detail;
use crate::ops::metrics::Delivered;
use crate::webhooks::callback_secret;
use crate::webhooks::callback_secret::{Known, SecretError};
use crate::webhooks::deliver::Parts;
use crate::webhooks::lanes::Heard;
use crate::webhooks::send::{Answered, Failure, Message};
use crate::webhooks::target::Target;
use crate::webhooks::{TEST, health, rows, sign};

/// How long after an attempt that failed the next one comes, in milliseconds (completion of the specification, section 3).
pub const SCHEDULE_MS: [i64; 7] = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000];
/// By how much of itself a pause is longer at most: messages that failed together do not come back together.
const JITTER_PART: i64 = 10;
/// How soon a message that could not be tried, for a reason of ours, is tried, in milliseconds.
const NOT_TRIED_MS: i64 = 5_000;
/// What an attempt takes at most besides the sending, in milliseconds: putting the message together and being woken late.
const BESIDES_MS: i64 = 1_000;

/// A message with what is needed to send it.
pub(super) struct Errand {
    pub(super) claimed: Claimed,
    /// The webhook to which it goes; none for a batch's own URL.
    pub(super) receiver: Option<Arc<Receiver>>,
    /// Whose turn it is to read rows.
    pub(super) putting_together: Arc<Semaphore>,
}

/// What came of an errand.
enum Outcome {
    /// It was tried.
    Tried(Result<Answered, Failure>),
    /// Of what it was about nothing is there any more.
    NothingToSay,
}

/// What an attempt has shown of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeardBy {
    pub(super) host: Heard,
    /// Of the customer's own place there.
    pub(super) own: Heard,
}

impl HeardBy {
    pub(super) fn nothing() -> Self {
        Self { host: Heard::Nothing, own: Heard::Nothing }
    }

    fn of(result: &Result<Answered, Failure>) -> Self {
        let same = |heard| Self { host: heard, own: heard };
        match result {
            // Too much, or broken: it is spared for a while. Others on its host may do well.
            Ok(Answered { status: 429 | 500..=599, .. }) => Self { host: Heard::Answer, own: Heard::Silence },
            Ok(_) => same(Heard::Answer),
            Err(Failure::Blocked | Failure::Local | Failure::Unmade) => same(Heard::Nothing),
            // Its host takes connections: what hangs or breaks behind them may be this one path.
            Err(Failure::Unanswered | Failure::Broken) => Self { host: Heard::Nothing, own: Heard::Silence },
            Err(Failure::Unresolved | Failure::Refused | Failure::Timeout | Failure::Tls) => same(Heard::Silence),
        }
    }
}

impl Parts {
    /// Makes one attempt and records it. What came of it is for the lanes.
    pub(super) async fn deliver(&self, errand: Errand, target: Option<Target>, began: Millis) -> HeardBy {
        let outcome = match target {
            Some(target) => self.attempt(&target, &errand).await,
            None => Outcome::Tried(Err(Failure::Blocked)),
        };
        self.record(&errand.claimed, began, &outcome).await;
        match outcome {
            Outcome::Tried(result) => HeardBy::of(&result),
            Outcome::NothingToSay => HeardBy::nothing(),
        }
    }

    async fn attempt(&self, target: &Target, errand: &Errand) -> Outcome {
        let claimed = &errand.claimed;
        let failed = |error: Detail| {
            tracing::error!(%error, delivery = %claimed.id, "cannot create a webhook message");
            Outcome::Tried(Err(if is_away(&error) { Failure::Local } else { Failure::Unmade }))
        };
        let secrets = match self.secrets_of(errand).await {
            Ok(secrets) => secrets,
            Err(error) => return failed(error.into()),
        };
        let body = match self.body_of(errand).await {
            Ok(Some(body)) => body,
            Ok(None) => return Outcome::NothingToSay,
            Err(error) => return failed(error),
        };
        let timestamp_s = self.clock.now().0.div_euclid(1_000);
        let signatures = sign::signatures(&secrets, &claimed.event.to_string(), timestamp_s, &body);
        let message = Message { id: claimed.event, timestamp_s, signatures, body };
        Outcome::Tried(self.sender.post(target, message).await)
    }

    /// What is sent. None: of what the message is about nothing is there any more.
    async fn body_of(&self, errand: &Errand) -> Result<Option<Vec<u8>>, Detail> {
        match &errand.claimed.content {
            Content::Bytes(bytes) => Ok(Some(bytes.clone())),
            Content::Rows(wanted) => {
                let _turn = errand.putting_together.acquire().await?;
                rows::body(&self.store, &errand.claimed, wanted).await
            }
        }
    }

    /// The secrets by which a message is signed now.
    async fn secrets_of(&self, errand: &Errand) -> Result<Vec<sign::Secret>, SecretError> {
        let claimed = &errand.claimed;
        let known = match &errand.receiver {
            Some(receiver) => Known::of_webhook(receiver, &self.secrets)?,
            None if claimed.signer.is_empty() => callback_secret::of(&self.store, &self.secrets, claimed.org).await?,
            // A node of a newer version knows this signer: the message is put off until it meets one.
            None => return Err(SecretError::UnknownSigner),
        };
        Ok(known.for_signing(self.clock.now()))
    }

    /// Writes what an attempt came to. Where that fails, the message is sent again after its lease.
    async fn record(&self, claimed: &Claimed, began: Millis, outcome: &Outcome) {
        let now = self.clock.now();
        let recorded = match outcome {
            Outcome::NothingToSay => {
                tracing::info!(
                    delivery = %claimed.id,
                    "the rows of a message no longer exist; its delivery is canceled"
                );
                let which = [(claimed.org, claimed.id)];
                self.store.write(|tx| outbox::cancel(tx, &claimed.run, &which).scope_boxed()).await
            }
            Outcome::Tried(Err(Failure::Local)) => {
                let until = [(claimed.org, claimed.id, now + NOT_TRIED_MS)];
                self.store.write(|tx| outbox::defer(tx, &claimed.run, &until).scope_boxed()).await
            }
            Outcome::Tried(result) => self.record_attempt(claimed, began, now, result).await,
        };
        match recorded {
            Ok(()) => {}
            Err(StoreError::LeaseLost) => tracing::info!(delivery = %claimed.id, "another node took over the delivery"),
            Err(error) => tracing::warn!(%error, delivery = %claimed.id, "cannot record a delivery attempt"),
        }
    }

    async fn record_attempt(
        &self,
        claimed: &Claimed,
        began: Millis,
        now: Millis,
        result: &Result<Answered, Failure>,
    ) -> Result<(), StoreError> {
        let random = u16::from_be_bytes(crate::random::bytes());
        let attempt = attempt(claimed, result, Span { began, ended: now, limit_ms: self.sender.total_ms() }, random);
        self.count(&attempt);
        if let Some(error) = attempt.error {
            tracing::info!(delivery = %claimed.id, error, attempts = claimed.attempts + 1, "cannot reach an endpoint");
        }
        let says_something = !matches!(result, Err(Failure::Unmade));
        let recorded = self.store.write(|tx| {
            async {
                outbox::record(tx, claimed, &attempt).await?;
                Ok(says_something && health::note(tx, claimed, &attempt, now).await?)
            }
            .scope_boxed()
        });
        if recorded.await? {
            tracing::warn!(webhook = claimed.signer, "a webhook was disabled");
        }
        Ok(())
    }

    fn count(&self, attempt: &Attempt) {
        let outcome = match attempt.state {
            State::Delivered => Delivered::Delivered,
            State::Waiting => Delivered::Failed,
            State::Exhausted | State::Cancelled => Delivered::Exhausted,
        };
        let took = Duration::from_millis(u64::try_from(attempt.took_ms).unwrap_or(0));
        self.metrics.webhooks().attempted(outcome, took);
    }
}

/// Whether the database did not answer, which passes.
fn is_away(error: &Detail) -> bool {
    let of_secret = || match error.downcast_ref::<SecretError>() {
        Some(SecretError::Store(error)) => Some(error),
        _ => None,
    };
    let store = error.downcast_ref::<StoreError>().or_else(of_secret);
    matches!(store, Some(StoreError::Unavailable { .. }))
}

/// When an attempt was made.
#[derive(Clone, Copy)]
struct Span {
    began: Millis,
    ended: Millis,
    /// How long sending may take, in milliseconds.
    limit_ms: i64,
}

impl Span {
    /// From when on the pause before the next attempt counts. Where nobody answered, all attempts seem to have used up their
    /// time: customers see when the next one is, and how soon one failed would tell what is in the operator's network.
    fn counts_from(self, answered: bool) -> Millis {
        if answered { self.ended } else { self.ended.max(self.began + (self.limit_ms + BESIDES_MS)) }
    }
}

/// The record of an attempt: what it came to, and what follows.
fn attempt(claimed: &Claimed, result: &Result<Answered, Failure>, span: Span, random: u16) -> Attempt {
    let now = span.ended;
    let (status, error) = match result {
        Ok(answered) => (Some(answered.status), None),
        Err(failure) => (None, Some(failure.as_str())),
    };
    let (state, next_at) = match status {
        Some(200..=299) => (State::Delivered, now),
        // A webhook is disabled by it. A batch's own URL has nothing that could be made active again: it gets all its attempts.
        Some(health::GONE) if !claimed.signer.is_empty() => (State::Exhausted, now),
        // Who tries a webhook looks at once.
        _ if claimed.kind == TEST => (State::Exhausted, now),
        _ => match pause_ms(claimed.attempts + 1, random) {
            Some(pause_ms) => (State::Waiting, span.counts_from(status.is_some()) + pause_ms),
            None => (State::Exhausted, now),
        },
    };
    let answer = result.as_ref().map_or_else(|_| Vec::new(), |answered| answered.body.clone());
    Attempt { at: span.began, took_ms: now.since(span.began), status, error, answer, state, next_at }
}

/// The pause after the `nth` attempt, never shorter than promised; none after the last.
fn pause_ms(nth: i64, random: u16) -> Option<i64> {
    let index = usize::try_from(nth - 1).ok()?;
    let pause_ms = *SCHEDULE_MS.get(index)?;
    Some(pause_ms + pause_ms / JITTER_PART * i64::from(random) / i64::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use probity_account::id::{DeliveryId, EventId};
    use probity_store::OrgNo;

    use super::*;
    use crate::webhooks::JOB_FINISHED;

    const NOW: Millis = Millis(1_000_000);
    const LIMIT_MS: i64 = 10_000;

    /// An attempt that took so long.
    fn span(took_ms: i64) -> Span {
        Span { began: NOW, ended: NOW + took_ms, limit_ms: LIMIT_MS }
    }

    /// A message of which so many attempts have come to an end.
    fn claimed(attempts: i64, kind: &str) -> Claimed {
        Claimed {
            org: OrgNo(1),
            id: DeliveryId::from_bits(1),
            event: EventId::from_bits(1),
            kind: kind.into(),
            url: "https://hooks.example.com/".into(),
            content: Content::Bytes(Vec::new()),
            job: None,
            signer: String::new(),
            created_at: NOW,
            attempts,
            tried: attempts,
            due_at: NOW,
            run: "run".into(),
        }
    }

    #[test]
    fn success_is_any_2xx_and_gone_ends_for_webhooks_alone() {
        let of_status = [
            (200, State::Delivered),
            (204, State::Delivered),
            (299, State::Delivered),
            (302, State::Waiting),
            (400, State::Waiting),
            (410, State::Waiting),
            (500, State::Waiting),
        ];
        for (status, state) in of_status {
            let result = Ok(Answered { status, body: Vec::new() });
            assert_eq!(attempt(&claimed(0, JOB_FINISHED), &result, span(0), 0).state, state, "{status}");
        }
        let of_webhook = Claimed { signer: "whk".into(), ..claimed(0, JOB_FINISHED) };
        for (status, state) in [(200, State::Delivered), (404, State::Waiting), (410, State::Exhausted)] {
            let result = Ok(Answered { status, body: Vec::new() });
            assert_eq!(attempt(&of_webhook, &result, span(0), 0).state, state, "{status}, a webhook's");
        }
        for failure in [Failure::Blocked, Failure::Timeout, Failure::Unanswered, Failure::Unresolved] {
            let state = attempt(&claimed(0, JOB_FINISHED), &Err(failure), span(0), 0).state;
            assert_eq!(state, State::Waiting, "{failure}");
            let state = attempt(&claimed(0, TEST), &Err(failure), span(0), 0).state;
            assert_eq!(state, State::Exhausted, "{failure}: a test is made once");
        }
    }

    #[test]
    fn pauses_are_those_that_were_promised_or_a_little_longer() {
        let failed = Ok(Answered { status: 500, body: Vec::new() });
        for (before, pause_ms) in (0..).zip(SCHEDULE_MS) {
            let next = |random| attempt(&claimed(before, JOB_FINISHED), &failed, span(50), random).next_at;
            assert_eq!(next(0), NOW + 50 + pause_ms);
            assert_eq!(next(u16::MAX), NOW + 50 + pause_ms + pause_ms / 10);
        }
        assert_eq!(attempt(&claimed(7, JOB_FINISHED), &failed, span(0), 0).state, State::Exhausted);
        assert_eq!(pause_ms(0, 0), None);
    }

    #[test]
    fn how_soon_an_attempt_without_an_answer_failed_does_not_show_in_the_next() {
        for (before, pause_ms) in (0..).zip(SCHEDULE_MS) {
            for failure in [Failure::Blocked, Failure::Refused, Failure::Tls, Failure::Timeout, Failure::Unanswered] {
                for took_ms in [0, 1, 5_000, LIMIT_MS, LIMIT_MS + 900] {
                    let next_at = attempt(&claimed(before, JOB_FINISHED), &Err(failure), span(took_ms), 0).next_at;
                    assert_eq!(next_at, NOW + (LIMIT_MS + BESIDES_MS + pause_ms), "{failure} after {took_ms}");
                }
            }
        }
        // What a busy machine makes longer still is not made shorter: the pause is what was promised.
        let late = attempt(&claimed(0, JOB_FINISHED), &Err(Failure::Timeout), span(60_000), 0).next_at;
        assert_eq!(late, NOW + (60_000 + SCHEDULE_MS[0]));
    }

    #[test]
    fn what_a_path_does_speaks_for_its_customer_and_not_for_its_host() {
        let of = |status| HeardBy::of(&Ok(Answered { status, body: Vec::new() }));
        for status in [200, 302, 400, 404, 410] {
            assert_eq!((of(status).host, of(status).own), (Heard::Answer, Heard::Answer), "{status}");
        }
        for status in [429, 500, 503] {
            assert_eq!((of(status).host, of(status).own), (Heard::Answer, Heard::Silence), "{status}");
        }
        for (failure, host) in [
            (Failure::Unanswered, Heard::Nothing),
            (Failure::Broken, Heard::Nothing),
            (Failure::Timeout, Heard::Silence),
            (Failure::Tls, Heard::Silence),
        ] {
            let heard = HeardBy::of(&Err(failure));
            assert_eq!((heard.host, heard.own), (host, Heard::Silence), "{failure}");
        }
    }
}
