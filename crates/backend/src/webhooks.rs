//! Webhook deliveries and callbacks: guarded, signed, and retried until the endpoint accepts them.
//!
//! [`Callbacks::check`] validates a URL ([`crate::outbound`]). The transaction of an event adds deliveries to the outbox
//! ([`tell`]). [`deliver`] claims, sends and records them, one by one ([`attempt`]), within the limits of each endpoint and host
//! ([`lanes`]). An endpoint that keeps failing is disabled ([`health`]).
//!
//! Customers choose endpoints, so no step trusts them. A URL may point into the operator's network, and a name may change
//! between two lookups. A server may redirect, drip, never end or never respond. A delivery is sent at least once, always with
//! the same `webhook-id`.

pub mod attempt;
pub mod callback_secret;
pub mod deliver;
pub mod health;
pub mod lanes;
pub mod rows;
pub mod send;
pub mod sign;
pub mod tell;

use std::sync::Arc;

use probity_account::id::{ErasureId, EventId, JobId};
use probity_engine::clock::EngineClock;
use probity_engine::net::egress::{EgressGuard, GuardConfig};
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::webhooks::outbox::{DeliveryContent, NewDelivery};
use ring::digest;
use tokio::sync::Notify;

use crate::outbound::{Authorities, HttpTarget, Names, NoNames, TargetRefusal, UrlGuard};

pub use attempt::SCHEDULE_MS;
pub use deliver::{DeliveryConfig, DeliveryParts, Worker};
pub use lanes::LaneConfig;
pub use send::{SendLimits, Sender};

/// Name of the event of a finished job.
pub const JOB_FINISHED: &str = "job.finished";
/// Kind of the callback for a completed erasure.
const ERASURE_COMPLETED: &str = "erasure.completed";
/// Name of the event that a customer requests to test a webhook.
pub const TEST: &str = probity_store::webhooks::outbox::TEST;

/// Settings of webhooks.
#[derive(Clone)]
pub struct WebhookConfig {
    /// IP addresses that may be dialed. Its port, that of mail, does not apply.
    pub egress: EgressGuard,
    /// Resolver of endpoints' names.
    pub names: Arc<dyn Names>,
    /// Whether endpoints must use https.
    pub https_only: bool,
    /// Limits of one attempt.
    pub limits: SendLimits,
    pub delivery: DeliveryConfig,
    /// Certificate authorities that are trusted besides the public ones.
    pub authorities: Authorities,
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self {
            egress: EgressGuard::new(GuardConfig::default()),
            names: Arc::new(NoNames),
            https_only: false,
            limits: SendLimits::default(),
            delivery: DeliveryConfig::default(),
            authorities: Authorities::default(),
        }
    }
}

impl WebhookConfig {
    /// Creates the guard of endpoints.
    pub fn guard(&self) -> UrlGuard {
        UrlGuard::new(self.egress.clone(), self.names.clone(), self.https_only)
    }

    /// Creates the sender, with the guard of `callbacks`.
    pub fn sender(&self, callbacks: &Callbacks, clock: EngineClock) -> Sender {
        Sender::trusting(&self.authorities, callbacks.guard().clone(), self.limits, clock)
    }
}

/// Access to deliveries for handlers and jobs.
#[derive(Clone)]
pub struct Callbacks {
    guard: Arc<UrlGuard>,
    wake: Arc<Notify>,
}

impl Callbacks {
    /// Uses a guard, which must be the worker's as well.
    pub fn new(guard: Arc<UrlGuard>) -> Self {
        Self { guard, wake: Arc::new(Notify::new()) }
    }

    pub fn guard(&self) -> &Arc<UrlGuard> {
        &self.guard
    }

    /// Checks that a text may be the URL of an endpoint; returns it in the form to store. A name that does not resolve now is
    /// accepted, because every attempt resolves it again.
    pub async fn check(&self, url: &str) -> Result<String, TargetRefusal> {
        let target = HttpTarget::parse(url)?;
        self.guard.check(&target).await?;
        Ok(target.as_str().to_owned())
    }

    /// Wakes the worker of this process. Call after the commit of a transaction that added deliveries. A lost wake-up delays
    /// them by one poll.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Returns the notification that [`Callbacks::wake`] sends.
    pub fn waker(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Creates the callback of a completed erasure, to be added in the transaction that completes it. The body is that of `GET
    /// /v1/erasures/{id}`.
    pub fn erasure_completed(org: OrgNo, id: ErasureId, url: &str, body: Vec<u8>, now: Millis) -> NewDelivery {
        let event = event_id(ERASURE_COMPLETED, &id.to_string());
        NewDelivery { event, ..callback(org, ERASURE_COMPLETED, url, body, now) }
    }

    /// Creates the callback of a finished job, to be added in the transaction that finishes it. The body is that of `GET
    /// /v1/jobs/{id}`.
    pub fn job_finished(org: OrgNo, job: JobId, url: &str, body: Vec<u8>, now: Millis) -> NewDelivery {
        let event = event_id(JOB_FINISHED, &job.to_string());
        NewDelivery { event, job: Some(job), ..callback(org, JOB_FINISHED, url, body, now) }
    }
}

/// Creates a callback about no job, as an event of its own.
fn callback(org: OrgNo, kind: &str, url: &str, body: Vec<u8>, now: Millis) -> NewDelivery {
    NewDelivery {
        org,
        id: probity_access::secrets::random::id(now),
        event: probity_access::secrets::random::id(now),
        kind: kind.to_owned(),
        url: url.to_owned(),
        content: DeliveryContent::Bytes(body),
        job: None,
        signer: String::new(),
        created_at: now,
    }
}

/// Returns the ID of an event: the same for the same kind and subject, on every node and at every attempt. It contains no time,
/// because two nodes that report one event may have different ones.
pub fn event_id(kind: &str, subject: &str) -> EventId {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(kind.as_bytes());
    context.update(&[0]);
    context.update(subject.as_bytes());
    let digest = context.finish();
    let (bits, _) = digest.as_ref().split_first_chunk::<16>().expect("SHA-256 has 32 bytes");
    EventId::from_bits(u128::from_be_bytes(*bits))
}

// The texts of the API name the maximum too.
const _: () = assert!(crate::outbound::URL_MAX == probity_contract::published::webhooks::URL_MAX);

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
