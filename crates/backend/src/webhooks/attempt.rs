//! One delivery attempt: its body and signatures, its outcome, and what follows.
//!
//! A failed delivery is retried by [`SCHEDULE_MS`], or later if the endpoint asks for it; a test delivery is not. Customers see the
//! time of the next attempt. Without a response, that time is the same for a closed port and a silent host. An attempt and its
//! effect on its webhook ([`super::health`]) are written in one transaction.
//!
//! If the database is unavailable or this machine is at its limits, nothing was tried, and the delivery is retried soon. A
//! delivery may also be impossible to build: its secret cannot be decrypted, its job is damaged, or only a newer version has
//! its signer. That counts as an attempt, so that it is not retried forever, although another node may succeed. It does not
//! count against the webhook.

use std::sync::Arc;
use std::time::Duration;

use probity_contract::error::Detail;
use probity_contract::published::webhooks::DeliveryFailure;
use probity_mail::time::Millis;
use probity_store::webhooks::WebhookReceiver;
use probity_store::webhooks::outbox::{self, AttemptResult, ClaimedDelivery, DeliveryContent, OutboxState};
use probity_store::{ScopedFutureExt as _, StoreError, work};
use probity_telemetry::metrics::Delivered;
use tokio::sync::Semaphore;

use crate::outbound::HttpTarget;
use crate::webhooks::callback_secret::{self, SecretError, SigningSecrets};
use crate::webhooks::deliver::DeliveryParts;
use crate::webhooks::lanes::ReceiverState;
use crate::webhooks::rows::RowsDelivery;
use crate::webhooks::send::{Message, ReceiverResponse};
use crate::webhooks::{TEST, health, rows, sign};

/// Pause after each failed attempt, in milliseconds (completion of the specification, section 3).
pub const SCHEDULE_MS: [i64; 7] = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000];
/// Maximum extension of a pause: 1 part in 10. Deliveries that failed together are not retried together.
const JITTER_PART: i64 = 10;
/// Longest pause that an endpoint can ask for, in milliseconds: an hour.
const ASKED_MAX_MS: i64 = 3_600_000;
/// Pause before a delivery that was not tried for a reason of ours, in milliseconds.
const NOT_TRIED_MS: i64 = 5_000;
/// Maximum time of an attempt besides sending, in milliseconds: building the request, and waking late.
const BESIDES_MS: i64 = 1_000;

/// Delivery with everything that is needed to send it.
pub(super) struct PreparedDelivery {
    pub(super) claimed: ClaimedDelivery,
    /// Webhook that receives it; `None` for a callback.
    pub(super) receiver: Option<Arc<WebhookReceiver>>,
    /// Limits how many deliveries read rows at a time.
    pub(super) putting_together: Arc<Semaphore>,
}

/// Outcome of a delivery.
enum AttemptOutcome {
    Tried(Result<ReceiverResponse, DeliveryFailure>),
    /// The subject of the delivery no longer exists.
    NothingToSay,
}

/// Observations from an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiverStates {
    pub(super) host: ReceiverState,
    /// About the customer's own endpoint on the host.
    pub(super) own: ReceiverState,
}

/// Returns whether an endpoint asks for a later retry (RFC 6585 section 4, RFC 9110 section 15.6.4). It works, so the attempt
/// does not count toward disabling its webhook.
fn asks_to_wait(response: &ReceiverResponse) -> bool {
    matches!(response.status, 429 | 503) && response.retry_after_ms.is_some()
}

impl ReceiverStates {
    pub(super) fn nothing() -> Self {
        Self { host: ReceiverState::Nothing, own: ReceiverState::Nothing }
    }

    fn of(result: &Result<ReceiverResponse, DeliveryFailure>) -> Self {
        let same = |heard| Self { host: heard, own: heard };
        match result {
            // Overloaded or broken: the endpoint is spared for a while. Others on its host may work.
            Ok(ReceiverResponse { status: 429 | 500..=599, .. }) => {
                Self { host: ReceiverState::Answer, own: ReceiverState::Silence }
            }
            Ok(_) => same(ReceiverState::Answer),
            Err(DeliveryFailure::Blocked | DeliveryFailure::Local | DeliveryFailure::Unmade) => {
                same(ReceiverState::Nothing)
            }
            // The host accepts connections, so the failure may concern this one path.
            Err(DeliveryFailure::Unanswered | DeliveryFailure::Broken) => {
                Self { host: ReceiverState::Nothing, own: ReceiverState::Silence }
            }
            Err(
                DeliveryFailure::Unresolved
                | DeliveryFailure::Refused
                | DeliveryFailure::Timeout
                | DeliveryFailure::Tls,
            ) => same(ReceiverState::Silence),
        }
    }
}

impl DeliveryParts {
    /// Makes one attempt and records it; returns its observations for the lanes.
    pub(super) async fn deliver(
        &self,
        delivery: PreparedDelivery,
        target: Option<HttpTarget>,
        began: Millis,
    ) -> ReceiverStates {
        let outcome = match target {
            Some(target) => self.attempt(&target, &delivery, began).await,
            None => AttemptOutcome::Tried(Err(DeliveryFailure::Blocked)),
        };
        self.record(&delivery.claimed, began, &outcome).await;
        match outcome {
            AttemptOutcome::Tried(result) => ReceiverStates::of(&result),
            AttemptOutcome::NothingToSay => ReceiverStates::nothing(),
        }
    }

    async fn attempt(&self, target: &HttpTarget, delivery: &PreparedDelivery, began: Millis) -> AttemptOutcome {
        let claimed = &delivery.claimed;
        let failed = |error: Detail| {
            tracing::error!(%error, delivery = %claimed.id, "cannot create a webhook message");
            AttemptOutcome::Tried(Err(if is_away(&error) { DeliveryFailure::Local } else { DeliveryFailure::Unmade }))
        };
        let secrets = match self.secrets_of(delivery).await {
            Ok(secrets) => secrets,
            Err(error) => return failed(error.into()),
        };
        let body = match self.body_of(delivery).await {
            Ok(Some(body)) => body,
            Ok(None) => return AttemptOutcome::NothingToSay,
            Err(error) => return failed(error),
        };
        // The start is in the log, so customers can see which timestamp was sent.
        let timestamp_s = began.0.div_euclid(1_000);
        let signatures = sign::signatures(&secrets, &claimed.event.to_string(), timestamp_s, &body);
        let message = Message { id: claimed.event, timestamp_s, signatures, body };
        AttemptOutcome::Tried(self.sender.post(target, message).await)
    }

    /// Returns the body to send; `None` if the subject of the delivery no longer exists.
    async fn body_of(&self, delivery: &PreparedDelivery) -> Result<Option<Vec<u8>>, Detail> {
        match &delivery.claimed.content {
            DeliveryContent::Bytes(bytes) => Ok(Some(bytes.clone())),
            DeliveryContent::Rows(wanted) => {
                let _turn = delivery.putting_together.acquire().await?;
                let ClaimedDelivery { org, job, kind, created_at, .. } = &delivery.claimed;
                let about = RowsDelivery { org: *org, job: *job, kind, created_at: *created_at, rows: wanted };
                rows::body(&self.store, about).await
            }
        }
    }

    /// Returns the secrets that sign a delivery now.
    async fn secrets_of(&self, delivery: &PreparedDelivery) -> Result<Vec<sign::Secret>, SecretError> {
        let claimed = &delivery.claimed;
        let known = match &delivery.receiver {
            Some(receiver) => SigningSecrets::of_webhook(receiver, &self.secrets)?,
            None if claimed.signer.is_empty() => callback_secret::of(&self.store, &self.secrets, claimed.org).await?,
            // A newer version has this signer. The delivery is retried until a node of that version claims it.
            None => return Err(SecretError::UnknownSigner),
        };
        Ok(known.for_signing(self.clock.now()))
    }

    /// Records the outcome of an attempt. If that fails, the delivery is sent again after its lease.
    async fn record(&self, claimed: &ClaimedDelivery, began: Millis, outcome: &AttemptOutcome) {
        let now = self.clock.now();
        let recorded = match outcome {
            AttemptOutcome::NothingToSay => {
                tracing::info!(
                    delivery = %claimed.id,
                    "the rows of a message no longer exist; its delivery is canceled"
                );
                let which = [(claimed.org, claimed.id)];
                self.store.write(|tx| outbox::cancel(tx, &claimed.run, &which).scope_boxed()).await
            }
            AttemptOutcome::Tried(Err(DeliveryFailure::Local)) => {
                let until = [(claimed.org, claimed.id, now + NOT_TRIED_MS)];
                self.store.write(|tx| outbox::defer(tx, &claimed.run, &until).scope_boxed()).await
            }
            AttemptOutcome::Tried(result) => self.record_attempt(claimed, began, now, result).await,
        };
        match recorded {
            Ok(()) => {}
            Err(StoreError::LeaseLost) => tracing::info!(delivery = %claimed.id, "another node took over the delivery"),
            Err(error) => tracing::warn!(%error, delivery = %claimed.id, "cannot record a delivery attempt"),
        }
    }

    async fn record_attempt(
        &self,
        claimed: &ClaimedDelivery,
        began: Millis,
        now: Millis,
        result: &Result<ReceiverResponse, DeliveryFailure>,
    ) -> Result<(), StoreError> {
        let random = u16::from_be_bytes(probity_access::secrets::random::bytes());
        let attempt =
            attempt(claimed, result, AttemptTimes { began, ended: now, limit_ms: self.sender.total_ms() }, random);
        self.count(&attempt);
        if let Some(error) = attempt.error {
            tracing::info!(delivery = %claimed.id, error, attempts = claimed.attempts + 1, "cannot reach an endpoint");
        }
        let says_something = match result {
            Ok(response) => !asks_to_wait(response),
            Err(failure) => !matches!(failure, DeliveryFailure::Unmade),
        };
        let recorded = self.store.write(work!(|tx| {
            outbox::record(tx, claimed, &attempt).await?;
            Ok(says_something && health::note(tx, claimed, &attempt, now).await?)
        }));
        if recorded.await? {
            tracing::warn!(webhook = claimed.signer, "a webhook was disabled");
        }
        Ok(())
    }

    fn count(&self, attempt: &AttemptResult) {
        let outcome = match attempt.state {
            OutboxState::Delivered => Delivered::Delivered,
            OutboxState::Waiting => Delivered::Failed,
            OutboxState::Exhausted | OutboxState::Cancelled => Delivered::Exhausted,
        };
        let took = Duration::from_millis(u64::try_from(attempt.took_ms).unwrap_or(0));
        self.metrics.webhooks().attempted(outcome, took);
    }
}

/// Whether the database did not respond, which is temporary.
fn is_away(error: &Detail) -> bool {
    let of_secret = || match error.downcast_ref::<SecretError>() {
        Some(SecretError::Store(error)) => Some(error),
        _ => None,
    };
    let store = error.downcast_ref::<StoreError>().or_else(of_secret);
    matches!(store, Some(StoreError::Unavailable { .. }))
}

/// Times of an attempt.
#[derive(Clone, Copy)]
struct AttemptTimes {
    began: Millis,
    ended: Millis,
    /// Maximum time of sending, in milliseconds.
    limit_ms: i64,
}

impl AttemptTimes {
    /// Returns the time from which the pause before the next attempt counts. Without a response, every attempt counts as having
    /// used its whole time. Customers see when the next attempt is, and a fast failure would reveal the operator's network.
    fn counts_from(self, answered: bool) -> Millis {
        if answered { self.ended } else { self.ended.max(self.began + (self.limit_ms + BESIDES_MS)) }
    }
}

/// Creates the record of an attempt: its outcome, and what follows.
fn attempt(
    claimed: &ClaimedDelivery,
    result: &Result<ReceiverResponse, DeliveryFailure>,
    span: AttemptTimes,
    random: u16,
) -> AttemptResult {
    let now = span.ended;
    let (status, error) = match result {
        Ok(answered) => (Some(answered.status), None),
        Err(failure) => (None, Some(failure.as_str())),
    };
    let (state, next_at) = match status {
        Some(200..=299) => (OutboxState::Delivered, now),
        // 410 disables a webhook. A callback's URL could not be enabled again, so it gets all attempts.
        Some(health::GONE) if !claimed.signer.is_empty() => (OutboxState::Exhausted, now),
        // A test is not retried, because its result is viewed immediately.
        _ if claimed.kind == TEST => (OutboxState::Exhausted, now),
        _ => match pause_ms(claimed.attempts + 1, random) {
            Some(pause_ms) => {
                let asked_ms = result.as_ref().ok().and_then(|answered| answered.retry_after_ms);
                let pause_ms = pause_ms.max(asked_ms.unwrap_or(0).min(ASKED_MAX_MS));
                (OutboxState::Waiting, span.counts_from(status.is_some()) + pause_ms)
            }
            None => (OutboxState::Exhausted, now),
        },
    };
    let answer = result.as_ref().map_or_else(|_| Vec::new(), |answered| answered.body.clone());
    AttemptResult { at: span.began, took_ms: now.since(span.began), status, error, answer, state, next_at }
}

/// Returns the pause after the `nth` attempt, never shorter than documented; `None` after the last one.
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

    /// Creates the times of an attempt that took `took_ms`.
    fn span(took_ms: i64) -> AttemptTimes {
        AttemptTimes { began: NOW, ended: NOW + took_ms, limit_ms: LIMIT_MS }
    }

    fn answered(status: u16) -> ReceiverResponse {
        ReceiverResponse { status, body: Vec::new(), retry_after_ms: None }
    }

    /// Creates a delivery after `attempts` attempts.
    fn claimed(attempts: i64, kind: &str) -> ClaimedDelivery {
        ClaimedDelivery {
            org: OrgNo(1),
            id: DeliveryId::from_bits(1),
            event: EventId::from_bits(1),
            kind: kind.into(),
            url: "https://hooks.example.com/".into(),
            content: DeliveryContent::Bytes(Vec::new()),
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
    fn only_throttling_with_a_time_asks_to_wait() {
        let says =
            |status, retry_after_ms| asks_to_wait(&ReceiverResponse { status, body: Vec::new(), retry_after_ms });
        assert!(says(429, Some(1_000)) && says(503, Some(0)));
        for (status, wait) in [(429, None), (503, None), (500, Some(1_000)), (404, Some(1_000)), (410, Some(1_000))] {
            assert!(!says(status, wait), "{status}");
        }
    }

    #[test]
    fn success_is_any_2xx_and_gone_ends_for_webhooks_alone() {
        let of_status = [
            (200, OutboxState::Delivered),
            (204, OutboxState::Delivered),
            (299, OutboxState::Delivered),
            (302, OutboxState::Waiting),
            (400, OutboxState::Waiting),
            (410, OutboxState::Waiting),
            (500, OutboxState::Waiting),
        ];
        for (status, state) in of_status {
            let result = Ok(answered(status));
            assert_eq!(attempt(&claimed(0, JOB_FINISHED), &result, span(0), 0).state, state, "{status}");
        }
        let of_webhook = ClaimedDelivery { signer: "whk".into(), ..claimed(0, JOB_FINISHED) };
        for (status, state) in
            [(200, OutboxState::Delivered), (404, OutboxState::Waiting), (410, OutboxState::Exhausted)]
        {
            let result = Ok(answered(status));
            assert_eq!(attempt(&of_webhook, &result, span(0), 0).state, state, "{status}, a webhook's");
        }
        for failure in [
            DeliveryFailure::Blocked,
            DeliveryFailure::Timeout,
            DeliveryFailure::Unanswered,
            DeliveryFailure::Unresolved,
        ] {
            let state = attempt(&claimed(0, JOB_FINISHED), &Err(failure), span(0), 0).state;
            assert_eq!(state, OutboxState::Waiting, "{failure}");
            let state = attempt(&claimed(0, TEST), &Err(failure), span(0), 0).state;
            assert_eq!(state, OutboxState::Exhausted, "{failure}: a test is made once");
        }
    }

    #[test]
    fn pauses_are_those_that_were_promised_or_a_little_longer() {
        let failed = Ok(answered(500));
        for (before, pause_ms) in (0..).zip(SCHEDULE_MS) {
            let next = |random| attempt(&claimed(before, JOB_FINISHED), &failed, span(50), random).next_at;
            assert_eq!(next(0), NOW + 50 + pause_ms);
            assert_eq!(next(u16::MAX), NOW + 50 + pause_ms + pause_ms / 10);
        }
        assert_eq!(attempt(&claimed(7, JOB_FINISHED), &failed, span(0), 0).state, OutboxState::Exhausted);
        assert_eq!(pause_ms(0, 0), None);
    }

    #[test]
    fn endpoints_prolong_a_pause_up_to_an_hour_and_never_shorten_it() {
        for (before, asked_ms, pause_ms) in [
            (0, 120_000, 120_000),
            (0, 1_000, SCHEDULE_MS[0]),
            (0, i64::MAX, ASKED_MAX_MS),
            (2, 600_000, SCHEDULE_MS[2]),
            (4, i64::MAX, SCHEDULE_MS[4]),
        ] {
            let busy = Ok(ReceiverResponse { retry_after_ms: Some(asked_ms), ..answered(429) });
            let next_at = attempt(&claimed(before, JOB_FINISHED), &busy, span(0), 0).next_at;
            assert_eq!(next_at, NOW + pause_ms, "attempt {before}, {asked_ms} ms");
        }
    }

    #[test]
    fn how_soon_an_attempt_without_an_answer_failed_does_not_show_in_the_next() {
        for (before, pause_ms) in (0..).zip(SCHEDULE_MS) {
            for failure in [
                DeliveryFailure::Blocked,
                DeliveryFailure::Refused,
                DeliveryFailure::Tls,
                DeliveryFailure::Timeout,
                DeliveryFailure::Unanswered,
            ] {
                for took_ms in [0, 1, 5_000, LIMIT_MS, LIMIT_MS + 900] {
                    let next_at = attempt(&claimed(before, JOB_FINISHED), &Err(failure), span(took_ms), 0).next_at;
                    assert_eq!(next_at, NOW + (LIMIT_MS + BESIDES_MS + pause_ms), "{failure} after {took_ms}");
                }
            }
        }
        // A busy machine may prolong an attempt, but not shorten the pause after it.
        let late = attempt(&claimed(0, JOB_FINISHED), &Err(DeliveryFailure::Timeout), span(60_000), 0).next_at;
        assert_eq!(late, NOW + (60_000 + SCHEDULE_MS[0]));
    }

    #[test]
    fn what_a_path_does_speaks_for_its_customer_and_not_for_its_host() {
        let of = |status| ReceiverStates::of(&Ok(answered(status)));
        for status in [200, 302, 400, 404, 410] {
            assert_eq!((of(status).host, of(status).own), (ReceiverState::Answer, ReceiverState::Answer), "{status}");
        }
        for status in [429, 500, 503] {
            assert_eq!((of(status).host, of(status).own), (ReceiverState::Answer, ReceiverState::Silence), "{status}");
        }
        for (failure, host) in [
            (DeliveryFailure::Unanswered, ReceiverState::Nothing),
            (DeliveryFailure::Broken, ReceiverState::Nothing),
            (DeliveryFailure::Timeout, ReceiverState::Silence),
            (DeliveryFailure::Tls, ReceiverState::Silence),
        ] {
            let heard = ReceiverStates::of(&Err(failure));
            assert_eq!((heard.host, heard.own), (host, ReceiverState::Silence), "{failure}");
        }
    }
}
