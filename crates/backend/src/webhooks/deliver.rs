//! Worker that sends the deliveries in the outbox.
//!
//! It claims due deliveries, sends each in its own task and records the outcome. Workers share the outbox through leases: the
//! deliveries of a worker that died are claimed again. A delivery is therefore sent at least once; receivers recognize a
//! repetition by its `webhook-id`. The webhook of a delivery is read at the claim. If it is gone or disabled, the delivery is
//! canceled.
//!
//! At most [`DeliveryConfig::at_once`] deliveries are in memory, in progress or kept for a free lane ([`kept`]). Endpoints that
//! did not respond last time get half of them, and one customer gets half. Webhooks, a customer's callbacks to a host, and
//! hosts have lanes ([`super::lanes`]), so that a hanging endpoint delays only itself. There are 7 retries
//! ([`SCHEDULE_MS`](super::attempt::SCHEDULE_MS)). A database failure is logged and retried at the next poll; an attempt that
//! cannot be recorded is repeated after its lease.

mod claim;
pub mod kept;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::Secrets;
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::webhooks::WebhookReceiver;
use probity_store::webhooks::outbox::ClaimedDelivery;
use probity_store::{OrgNo, Store};
use probity_telemetry::metrics::Metrics;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::nodes::NodePresence;
use crate::outbound::HttpTarget;
use crate::webhooks::attempt::{PreparedDelivery, ReceiverStates};
use crate::webhooks::deliver::kept::{KeptDelivery, ReleasedDeliveries};
use crate::webhooks::lanes::{Admission, EndpointState, LaneConfig, Lanes, ReceiverState};
use crate::webhooks::send::Sender;
use crate::webhooks::{Callbacks, TEST};

/// Pause of a delivery to a silent endpoint while too many of those are in progress, in milliseconds.
const SILENT_MS: i64 = 2_000;
/// Maximum number of deliveries about rows that are built concurrently. Each reads up to 100 blocks of addresses.
const PUT_TOGETHER_MAX: usize = 4;

/// Settings of deliveries.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryConfig {
    /// Maximum number of concurrent attempts.
    pub at_once: usize,
    /// Limits for each host.
    pub lanes: LaneConfig,
    /// Lower limits for each webhook, and for a customer's callbacks to a host, because many customers may share a host.
    pub own_lanes: LaneConfig,
    /// Lease of a claimed delivery, in milliseconds. Longer than an attempt and its record take. A delivery whose worker died
    /// waits for this long.
    pub lease_ms: i64,
    /// Poll interval without a wake-up.
    pub poll: Duration,
    /// Maximum time for attempts in progress to finish at the end. Attempts that are cut off are repeated later.
    pub grace: Duration,
}

impl Default for DeliveryConfig {
    fn default() -> Self {
        Self {
            at_once: 64,
            lanes: LaneConfig::default(),
            own_lanes: LaneConfig { at_once: 2, ..LaneConfig::default() },
            lease_ms: 20_000,
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(11),
        }
    }
}

/// Further deliveries that may be due after a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// More, and there may be capacity.
    More,
    /// More, with capacity once an attempt ends.
    WhereOneEnds,
    Nothing,
}

impl DeliveryConfig {
    /// Returns the maximum number of concurrent attempts for one customer, over all hosts. An unknown host counts as responsive,
    /// and new names cost nothing.
    fn share(&self) -> usize {
        (self.at_once / 2).max(1)
    }
}

/// Dependencies of a worker.
#[derive(Clone)]
pub struct DeliveryParts {
    pub store: Store,
    /// Decrypts the secrets that sign deliveries.
    pub secrets: Arc<Secrets>,
    pub sender: Sender,
    pub clock: EngineClock,
    pub metrics: Arc<Metrics>,
}

/// Sends deliveries; one for each process.
pub struct Worker {
    parts: DeliveryParts,
    config: DeliveryConfig,
    hosts: Lanes,
    own: Lanes,
    under_way: JoinSet<ReceiverStates>,
    /// Lanes of each attempt in progress.
    lanes: HashMap<Id, LanesOf>,
    /// Deliveries that wait for a lane, the oldest first.
    kept: Vec<KeptDelivery>,
    /// Kept deliveries that got no lane in time and must be released.
    back: ReleasedDeliveries,
    putting_together: Arc<Semaphore>,
    wake: Arc<Notify>,
    /// Node that must be able to claim work; `None` if this is the only worker.
    node: Option<Arc<NodePresence>>,
}

/// Lanes that an attempt takes.
#[derive(Clone)]
pub struct LanesOf {
    host: String,
    /// Lane of the webhook, or of the customer's callbacks to the host.
    own: String,
    customer: OrgNo,
    /// Silent if one of the lanes got no response last time.
    state: EndpointState,
}

/// Destination of a delivery.
enum To {
    /// The URL in the delivery.
    Elsewhere,
    Webhook(Arc<WebhookReceiver>),
    /// A webhook that no longer exists.
    Nobody,
}

/// Result of starting a claimed delivery.
enum DeliveryStart {
    /// It is being sent, or will be as soon as a lane is free.
    Started,
    /// It has to wait until this time.
    Later(Millis),
    /// It is no longer wanted.
    Unwanted,
}

impl Worker {
    /// Creates a worker that `callbacks` wakes.
    pub fn new(parts: DeliveryParts, callbacks: &Callbacks, config: DeliveryConfig) -> Self {
        Self {
            parts,
            config,
            hosts: Lanes::new(config.lanes),
            own: Lanes::new(config.own_lanes),
            under_way: JoinSet::new(),
            lanes: HashMap::new(),
            kept: Vec::new(),
            back: ReleasedDeliveries::default(),
            putting_together: Arc::new(Semaphore::new(PUT_TOGETHER_MAX)),
            wake: callbacks.waker(),
            node: None,
        }
    }

    /// Claims deliveries only while this node may claim work.
    #[must_use]
    pub fn of_node(self, node: Arc<NodePresence>) -> Self {
        Self { node: Some(node), ..self }
    }

    /// Works until `ending` is canceled, then waits for attempts in progress, but not longer than the grace period.
    pub async fn run(mut self, ending: CancellationToken) {
        while !ending.is_cancelled() {
            let due = self.claim().await;
            if due != Due::More || self.room() == 0 {
                self.wait(due != Due::Nothing, &ending).await;
            }
        }
        self.give_up_kept();
        self.hand_back().await;
        let grace = self.config.grace;
        if tokio::time::timeout(grace, self.finish()).await.is_err() {
            tracing::warn!(
                cut = self.under_way.len(),
                "interrupted deliveries at shutdown; they are retried when their leases end"
            );
            self.under_way.shutdown().await;
        }
    }

    /// Sends everything that is due and can go now. Returns when all of these attempts have ended.
    pub async fn run_once(&mut self) {
        loop {
            match self.claim().await {
                Due::More if self.room() > 0 => {}
                Due::More | Due::WhereOneEnds if !self.under_way.is_empty() => self.one_ended().await,
                _ => break,
            }
        }
        self.finish().await;
    }

    async fn finish(&mut self) {
        while !self.under_way.is_empty() {
            self.one_ended().await;
        }
        self.hand_back().await;
    }

    fn room(&self) -> usize {
        self.config.at_once.saturating_sub(self.under_way.len() + self.kept.len())
    }

    /// Waits for a reason to claim again: new deliveries, the next poll, or room if `more` are due.
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
            // A panic is a bug, and is logged where it happened. The delivery is claimed again after its lease.
            Err(error) => (error.id(), ReceiverStates::nothing()),
        };
        let now = self.parts.clock.now();
        if let Some(LanesOf { host, own, state, .. }) = self.lanes.remove(&id) {
            self.hosts.done(&host, state, now, heard.host);
            self.own.done(&own, state, now, heard.own);
        }
        self.start_kept(now);
    }

    /// Starts an attempt if its lanes are free. Otherwise the delivery is kept, or has to wait.
    fn start(&mut self, mut claimed: ClaimedDelivery, to: To, now: Millis) -> DeliveryStart {
        let receiver = match to {
            To::Elsewhere => None,
            To::Webhook(receiver) if receiver.active || claimed.kind == TEST => Some(receiver),
            To::Webhook(_) | To::Nobody => return DeliveryStart::Unwanted,
        };
        if let Some(receiver) = &receiver {
            claimed.url.clone_from(&receiver.url);
        }
        let target = HttpTarget::parse(&claimed.url);
        let host = target.as_ref().map_or_else(|_| String::new(), HttpTarget::lane);
        let own = match &receiver {
            Some(receiver) => receiver.id.to_string(),
            None => format!("{} {host}", claimed.org.0),
        };
        let silent = self.hosts.is_silent(&host) || self.own.is_silent(&own);
        let lanes = LanesOf {
            host,
            own,
            customer: claimed.org,
            state: if silent { EndpointState::Silent } else { EndpointState::Lively },
        };
        let delivery = PreparedDelivery { claimed, receiver, putting_together: self.putting_together.clone() };
        let ready = KeptDelivery { delivery, target: target.ok(), lanes, since: now };
        if self.may_keep(&ready.lanes) {
            self.kept.push(ready);
            return DeliveryStart::Started;
        }
        match self.admit(&ready.lanes, now) {
            Admission::Go => {
                self.send(ready, now);
                DeliveryStart::Started
            }
            Admission::Later(at) => DeliveryStart::Later(at),
        }
    }

    /// Sends a delivery that has its slots.
    fn send(&mut self, ready: KeptDelivery, now: Millis) {
        let KeptDelivery { delivery, target, lanes, .. } = ready;
        let parts = self.parts.clone();
        let task = self.under_way.spawn(async move { parts.deliver(delivery, target, now).await });
        self.lanes.insert(task.id(), lanes);
    }

    /// Takes a slot in each lane, or none. Silent endpoints share half of all slots.
    fn admit(&mut self, lanes: &LanesOf, now: Millis) -> Admission {
        let silent = self.lanes.values().filter(|lanes| lanes.state == EndpointState::Silent).count();
        if lanes.state == EndpointState::Silent && silent >= (self.config.at_once / 2).max(1) {
            return Admission::Later(now + SILENT_MS);
        }
        if self.has_its_share(lanes.customer) {
            // Claims nothing of this customer before one of its attempts ends.
            return Admission::Later(now);
        }
        if let Admission::Later(at) = self.own.admit(&lanes.own, lanes.state, now) {
            return Admission::Later(at);
        }
        let admission = self.hosts.admit(&lanes.host, lanes.state, now);
        if let Admission::Later(_) = admission {
            self.own.done(&lanes.own, lanes.state, now, ReceiverState::Nothing);
        }
        admission
    }
}
