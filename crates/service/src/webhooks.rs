//! Telling customers' servers what has happened: signed, guarded, again until they have it.
//!
//! ```text
//! submit:   Callbacks::check(url) ........ guard.rs   what may be a receiver at all
//! event:    tell.rs .. -> store::outbox::put, in the transaction of the event
//! delivery: Worker::run .................. deliver.rs claims, sends, records
//!             attempt.rs                              what one attempt needs, and what follows from it
//!             rows.rs                                 what a message about rows says, read when it is sent
//!             health.rs                               when a webhook has failed for too long
//!             lanes.rs                                how many at once to one receiver, how fast, and when not at all
//!             send.rs                                 one POST to an address that the guard has let through
//!             sign.rs                                 Standard Webhooks
//! ```
//!
//! A receiver is whatever a customer writes, so every step distrusts it: its URL may point into the operator's network, its
//! name may change between two look-ups, it may redirect, drip, never end or never answer. A message is sent at least once
//! and always under the same `webhook-id`.

pub mod attempt;
pub mod callback_secret;
pub mod deliver;
pub mod guard;
pub mod health;
pub mod lanes;
pub mod rows;
pub mod send;
pub mod sign;
pub mod target;
pub mod tell;

use std::sync::Arc;

use probity_account::id::{ErasureId, EventId, JobId};
use probity_engine::clock::Clock;
use probity_engine::egress::{Guard, GuardConfig};
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::outbox::{Content, Delivery};
use ring::digest;
use tokio::sync::Notify;

pub use attempt::SCHEDULE_MS;
pub use deliver::{DeliveryConfig, Parts, Worker};
pub use guard::{ByNet, Names, NoNames, UrlGuard};
pub use lanes::LaneConfig;
pub use send::{SendLimits, Sender};
pub use target::{Refused, Target};

/// What the event of a finished job is called.
pub const JOB_FINISHED: &str = "job.finished";
/// The sort of the message that tells of an erasure that is done.
const ERASURE_COMPLETED: &str = "erasure.completed";
/// What the event is called that a customer asks for, to try a webhook.
pub const TEST: &str = probity_store::outbox::TEST;

/// How customers' servers are told.
#[derive(Clone)]
pub struct WebhookConfig {
    /// The addresses that may be dialled; its port, that of mail, does not count.
    pub egress: Guard,
    /// Who resolves names of receivers.
    pub names: Arc<dyn Names>,
    /// Whether receivers must be https.
    pub https_only: bool,
    /// The limits of one attempt.
    pub limits: SendLimits,
    /// How deliveries are made.
    pub delivery: DeliveryConfig,
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self {
            egress: Guard::new(GuardConfig::default()),
            names: Arc::new(NoNames),
            https_only: false,
            limits: SendLimits::default(),
            delivery: DeliveryConfig::default(),
        }
    }
}

impl WebhookConfig {
    /// The guard of receivers.
    pub fn guard(&self) -> UrlGuard {
        UrlGuard::new(self.egress.clone(), self.names.clone(), self.https_only)
    }

    /// The sender behind the guard that `callbacks` has.
    pub fn sender(&self, callbacks: &Callbacks, clock: Clock) -> Sender {
        Sender::new(callbacks.guard().clone(), self.limits, clock)
    }
}

/// What handlers and jobs need of the delivery of callbacks.
#[derive(Clone)]
pub struct Callbacks {
    guard: Arc<UrlGuard>,
    wake: Arc<Notify>,
}

impl Callbacks {
    /// With the guard that the worker asks too.
    pub fn new(guard: Arc<UrlGuard>) -> Self {
        Self { guard, wake: Arc::new(Notify::new()) }
    }

    /// The guard of receivers.
    pub fn guard(&self) -> &Arc<UrlGuard> {
        &self.guard
    }

    /// Whether a text may be the URL of a receiver; returns it as it is to be kept. A name that does not resolve now is
    /// accepted: every attempt asks again.
    pub async fn check(&self, url: &str) -> Result<String, Refused> {
        let target = Target::parse(url)?;
        self.guard.check(&target).await?;
        Ok(target.as_str().to_owned())
    }

    /// Wakes the worker of this process; to be called when a transaction that has put messages is committed. A wake-up that
    /// is lost delays them by one poll.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// What [`Callbacks::wake`] wakes.
    pub(crate) fn waker(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// The message to an erasure's own URL that everything is erased, to be put in the transaction that completes it. The body is
    /// that of `GET /v1/erasures/{id}`.
    pub fn erasure_completed(org: OrgNo, id: ErasureId, url: &str, body: Vec<u8>, now: Millis) -> Delivery {
        Delivery {
            org,
            id: crate::random::id(now),
            event: event_id(ERASURE_COMPLETED, &id.to_string()),
            kind: ERASURE_COMPLETED.to_owned(),
            url: url.to_owned(),
            content: Content::Bytes(body),
            job: None,
            signer: String::new(),
            created_at: now,
        }
    }

    /// The message to a batch's own URL that its job has finished, to be put in the transaction that finishes it. The body is
    /// that of `GET /v1/jobs/{id}`.
    pub fn job_finished(org: OrgNo, job: JobId, url: &str, body: Vec<u8>, now: Millis) -> Delivery {
        Delivery {
            org,
            id: crate::random::id(now),
            event: event_id(JOB_FINISHED, &job.to_string()),
            kind: JOB_FINISHED.to_owned(),
            url: url.to_owned(),
            content: Content::Bytes(body),
            job: Some(job),
            signer: String::new(),
            created_at: now,
        }
    }
}

/// The id of an event: the same for the same kind and subject, on every node and at every try. It has no time in it, because
/// two nodes that tell of one event do not have the same one.
pub fn event_id(kind: &str, subject: &str) -> EventId {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(kind.as_bytes());
    context.update(&[0]);
    context.update(subject.as_bytes());
    let digest = context.finish();
    let (bits, _) = digest.as_ref().split_first_chunk::<16>().expect("SHA-256 has 32 bytes");
    EventId::from_bits(u128::from_be_bytes(*bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_event_has_the_same_id() {
        assert_eq!(event_id("a", "b"), event_id("a", "b"));
        assert_ne!(event_id("a", "b"), event_id("a", "c"));
        assert_ne!(event_id("a", "b"), event_id("", "ab"));
        assert_ne!(event_id("ab", ""), event_id("a", "b"));
        let text = event_id(JOB_FINISHED, "job_01h455vb4pex5vsknk084sn02q").to_string();
        assert_eq!(text.parse(), Ok(event_id(JOB_FINISHED, "job_01h455vb4pex5vsknk084sn02q")));
    }
}
