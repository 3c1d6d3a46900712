//! The worker that delivers what waits in the outbox.
//!
//! It claims messages that are due, sends each in a task of its own and records what came of it. Several workers share one
//! outbox: a claim is a lease, and a message whose worker died is claimed again when its lease ends. So a message is sent at
//! least once, and a receiver knows a repeated one by its `webhook-id`.
//!
//! Bounds: [`DeliveryConfig::at_once`] attempts at a time, which is also how many messages are in memory; a lane for each
//! receiver ([`super::lanes`]), so that one that hangs holds up itself only; seven repetitions ([`SCHEDULE_MS`]). A database
//! that fails is logged and asked again at the next poll; an attempt that could not be recorded is made again after its lease.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probity_core::id::DeliveryId;
use probity_core::time::Millis;
use probity_engine::clock::Clock;
use probity_store::outbox::{self, Attempt, Claimed, State};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};
use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::Callbacks;
use super::callback_secret::{self, SecretError};
use super::lanes::{Admission, Heard, LaneConfig, Lanes};
use super::send::{Answered, Failure, Message, Sender};
use super::sign;
use super::target::Target;
use crate::ops::metrics::{Delivered, Metrics};
use crate::secrets::Secrets;

/// How long after an attempt that failed the next one comes, in milliseconds (completion of the specification, section 3).
pub const SCHEDULE_MS: [i64; 7] = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000];
/// By how much of itself a pause is longer at most: messages that failed together do not come back together.
const JITTER_PART: i64 = 10;
/// How soon a message that could not be tried, for a reason of ours, is tried, in milliseconds.
const NOT_TRIED_MS: i64 = 5_000;
/// How many messages one transaction claims.
const CLAIMED_MAX: usize = 32;

/// How deliveries are made.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryConfig {
    /// Attempts at a time.
    pub at_once: usize,
    /// What each receiver is spared.
    pub lanes: LaneConfig,
    /// How long a claim counts, in milliseconds: longer than an attempt takes, with its record. So long a message waits whose
    /// worker died.
    pub lease_ms: i64,
    /// How often the outbox is looked at where nobody wakes the worker.
    pub poll: Duration,
    /// How long attempts under way may go on after the end; what is cut then is sent again later.
    pub grace: Duration,
}

impl Default for DeliveryConfig {
    fn default() -> Self {
        Self {
            at_once: 64,
            lanes: LaneConfig::default(),
            lease_ms: 20_000,
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(11),
        }
    }
}

/// What a worker works with.
#[derive(Clone)]
pub struct Parts {
    /// Where the outbox is.
    pub store: Store,
    /// What the organizations' secrets are encrypted with.
    pub secrets: Arc<Secrets>,
    /// Who sends.
    pub sender: Sender,
    /// The time.
    pub clock: Clock,
    /// Where attempts are counted.
    pub metrics: Arc<Metrics>,
}

/// Delivers messages; one for each process.
pub struct Worker {
    parts: Parts,
    config: DeliveryConfig,
    lanes: Lanes,
    under_way: JoinSet<Heard>,
    /// The receiver of each attempt under way.
    receivers: HashMap<Id, String>,
    wake: Arc<Notify>,
}

impl Worker {
    /// A worker that `callbacks` wakes.
    pub fn new(parts: Parts, callbacks: &Callbacks, config: DeliveryConfig) -> Self {
        Self {
            parts,
            config,
            lanes: Lanes::new(config.lanes),
            under_way: JoinSet::new(),
            receivers: HashMap::new(),
            wake: callbacks.waker(),
        }
    }

    /// Works until it is told to end; then lets what is under way end too, for as long as that may take.
    pub async fn run(mut self, ending: CancellationToken) {
        while !ending.is_cancelled() {
            let more = self.claim().await;
            if !(more && self.room() > 0) {
                self.wait(more, &ending).await;
            }
        }
        let grace = self.config.grace;
        if tokio::time::timeout(grace, self.finish()).await.is_err() {
            tracing::warn!(cut = self.under_way.len(), "deliveries were cut; they are made again after their leases");
            self.under_way.shutdown().await;
        }
    }

    /// Delivers everything that is due now and can go, and returns when all of those attempts have ended.
    pub async fn run_once(&mut self) {
        while self.claim().await {
            while self.room() == 0 {
                self.one_ended().await;
            }
        }
        self.finish().await;
    }

    async fn finish(&mut self) {
        while !self.under_way.is_empty() {
            self.one_ended().await;
        }
    }

    fn room(&self) -> usize {
        self.config.at_once.saturating_sub(self.under_way.len())
    }

    /// Waits for something that makes another claim worth while: new messages, the next poll, or room where `more` is due.
    async fn wait(&mut self, more: bool, ending: &CancellationToken) {
        let wake = self.wake.clone();
        let poll = tokio::time::sleep(self.config.poll);
        tokio::pin!(poll);
        loop {
            let busy = !self.under_way.is_empty();
            tokio::select! {
                () = ending.cancelled() => return,
                () = wake.notified() => return,
                () = &mut poll => return,
                () = self.one_ended(), if busy => {
                    if more {
                        return;
                    }
                }
            }
        }
    }

    async fn one_ended(&mut self) {
        let Some(ended) = self.under_way.join_next_with_id().await else { return };
        let (id, heard) = match ended {
            Ok(ended) => ended,
            // A panic is a bug, and is logged where it happened; the lease gives the message back.
            Err(error) => (error.id(), Heard::Nothing),
        };
        if let Some(receiver) = self.receivers.remove(&id) {
            self.lanes.done(&receiver, self.parts.clock.now(), heard);
        }
    }

    /// Claims what there is room for and starts what may go. True: more may be due.
    async fn claim(&mut self) -> bool {
        let wanted = self.room().min(CLAIMED_MAX);
        match self.try_claim(wanted).await {
            Ok(claimed) => wanted > 0 && claimed == wanted,
            Err(error) => {
                tracing::warn!(%error, "the outbox could not be read; it is tried again");
                false
            }
        }
    }

    async fn try_claim(&mut self, wanted: usize) -> Result<usize, StoreError> {
        let Parts { store, clock, .. } = &self.parts;
        let now = clock.now();
        if wanted == 0 || !outbox::any_due(&mut store.read().await?, now).await? {
            return Ok(0);
        }
        let (run, lease_ms) = (crate::secrets::hex(&crate::random::bytes::<16>()), self.config.lease_ms);
        let at_most = u32::try_from(wanted).unwrap_or(u32::MAX);
        let claim = store.write(|tx| outbox::claim(tx, now, lease_ms, &run, at_most).scope_boxed());
        let claimed = claim.await?;
        let (count, mut later) = (claimed.len(), Vec::new());
        for one in claimed {
            later.extend(self.start_or_defer(one, now));
        }
        if !later.is_empty() {
            let store = &self.parts.store;
            store.write(|tx| outbox::defer(tx, &run, &later).scope_boxed()).await?;
        }
        Ok(count)
    }

    /// Starts an attempt, or says until when the message is put off.
    fn start_or_defer(&mut self, claimed: Claimed, now: Millis) -> Option<(OrgNo, DeliveryId, Millis)> {
        let target = Target::parse(&claimed.url);
        let receiver = target.as_ref().map_or_else(|_| String::new(), Target::lane);
        match self.lanes.admit(&receiver, now) {
            Admission::Later(at) => Some((claimed.org, claimed.id, at)),
            Admission::Go => {
                let parts = self.parts.clone();
                let task = self.under_way.spawn(async move {
                    let result = match target {
                        Ok(target) => parts.attempt(&target, &claimed).await,
                        Err(_) => Err(Failure::Blocked),
                    };
                    parts.record(&claimed, now, &result).await;
                    heard(&result)
                });
                self.receivers.insert(task.id(), receiver);
                None
            }
        }
    }
}

impl Parts {
    async fn attempt(&self, target: &Target, claimed: &Claimed) -> Result<Answered, Failure> {
        let secrets = self.secrets_of(claimed).await.map_err(|error| {
            tracing::error!(%error, delivery = %claimed.id, "a message cannot be signed; it is tried again");
            Failure::Local
        })?;
        let timestamp_s = self.clock.now().0.div_euclid(1_000);
        let signatures = sign::signatures(&secrets, &claimed.event.to_string(), timestamp_s, &claimed.body);
        let message = Message { id: claimed.event, timestamp_s, signatures, body: claimed.body.clone() };
        self.sender.post(target, message).await
    }

    /// The secrets by which a message is signed now.
    async fn secrets_of(&self, claimed: &Claimed) -> Result<Vec<sign::Secret>, SecretError> {
        if !claimed.signer.is_empty() {
            // A node of a newer version knows this signer: the message is put off until it meets one.
            return Err(SecretError::UnknownSigner);
        }
        let known = callback_secret::of(&self.store, &self.secrets, claimed.org).await?;
        Ok(known.for_signing(self.clock.now()))
    }

    /// Writes what an attempt came to. Where that fails, the message is sent again after its lease.
    async fn record(&self, claimed: &Claimed, began: Millis, result: &Result<Answered, Failure>) {
        let now = self.clock.now();
        let recorded = if let Err(Failure::Local) = result {
            let until = [(claimed.org, claimed.id, now + NOT_TRIED_MS)];
            self.store.write(|tx| outbox::defer(tx, &claimed.run, &until).scope_boxed()).await
        } else {
            let attempt = attempt(claimed.attempts + 1, result, began, now, u16::from_be_bytes(crate::random::bytes()));
            self.count(&attempt);
            if let Some(error) = attempt.error {
                tracing::info!(delivery = %claimed.id, error, attempts = claimed.attempts + 1, "a receiver was not reached");
            }
            self.store.write(|tx| outbox::record(tx, claimed, &attempt).scope_boxed()).await
        };
        match recorded {
            Ok(()) => {}
            Err(StoreError::LeaseLost) => tracing::info!(delivery = %claimed.id, "another has taken the delivery over"),
            Err(error) => tracing::warn!(%error, delivery = %claimed.id, "an attempt could not be recorded"),
        }
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

/// The record of the `nth` attempt: what it came to, and what follows.
fn attempt(nth: i64, result: &Result<Answered, Failure>, began: Millis, now: Millis, random: u16) -> Attempt {
    let (status, error) = match result {
        Ok(answered) => (Some(answered.status), None),
        Err(failure) => (None, Some(failure.as_str())),
    };
    let (state, next_at) = match status {
        Some(200..=299) => (State::Delivered, now),
        // Gone: the receiver wants no more of them.
        Some(410) => (State::Exhausted, now),
        _ => match pause_ms(nth, random) {
            Some(pause_ms) => (State::Waiting, now + pause_ms),
            None => (State::Exhausted, now),
        },
    };
    let answer = result.as_ref().map_or_else(|_| Vec::new(), |answered| answered.body.clone());
    Attempt { at: began, took_ms: now.since(began), status, error, answer, state, next_at }
}

/// The pause after the `nth` attempt, never shorter than promised; none after the last.
fn pause_ms(nth: i64, random: u16) -> Option<i64> {
    let index = usize::try_from(nth - 1).ok()?;
    let pause_ms = *SCHEDULE_MS.get(index)?;
    Some(pause_ms + pause_ms / JITTER_PART * i64::from(random) / i64::from(u16::MAX))
}

/// What an attempt has shown of its receiver.
fn heard(result: &Result<Answered, Failure>) -> Heard {
    match result {
        Ok(_) => Heard::Answer,
        Err(Failure::Blocked | Failure::Local) => Heard::Nothing,
        Err(Failure::Unresolved | Failure::Refused | Failure::Timeout | Failure::Tls | Failure::Broken) => {
            Heard::Silence
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    #[test]
    fn success_is_any_2xx_and_gone_ends() {
        let of_status = [
            (200, State::Delivered),
            (204, State::Delivered),
            (299, State::Delivered),
            (302, State::Waiting),
            (400, State::Waiting),
            (410, State::Exhausted),
            (500, State::Waiting),
        ];
        for (status, state) in of_status {
            let result = Ok(Answered { status, body: Vec::new() });
            assert_eq!(attempt(1, &result, NOW, NOW, 0).state, state, "{status}");
        }
        for failure in [Failure::Blocked, Failure::Timeout, Failure::Unresolved] {
            assert_eq!(attempt(1, &Err(failure), NOW, NOW, 0).state, State::Waiting, "{failure}");
        }
    }

    #[test]
    fn pauses_are_those_that_were_promised_or_a_little_longer() {
        let failed = Err(Failure::Refused);
        for (nth, pause_ms) in (1..).zip(SCHEDULE_MS) {
            let next = |random| attempt(nth, &failed, NOW, NOW + 50, random).next_at;
            assert_eq!(next(0), NOW + 50 + pause_ms);
            assert_eq!(next(u16::MAX), NOW + 50 + pause_ms + pause_ms / 10);
        }
        assert_eq!(attempt(8, &failed, NOW, NOW, 0).state, State::Exhausted);
        assert_eq!(pause_ms(0, 0), None);
    }
}
