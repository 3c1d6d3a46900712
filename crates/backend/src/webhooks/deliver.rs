//! Worker that sends the deliveries in the outbox.
//!
//! It claims due deliveries, sends each in its own task and records the outcome. Workers share the outbox through leases: the
//! deliveries of a worker that died are claimed again. A delivery is therefore sent at least once; receivers recognize a
//! repetition by its `webhook-id`. The webhook of a delivery is read at the claim. If it is gone or disabled, the delivery is
//! canceled.
//!
//! At most [`DeliveryConfig::at_once`] deliveries are in memory, in progress or waiting for a place at their endpoint. Endpoints
//! that did not respond last time get half of them, and one customer gets half. Webhooks, a customer's callbacks to a host, and
//! hosts have lanes ([`super::lanes`]), so that a hanging endpoint delays only itself. There are 7 retries
//! ([`SCHEDULE_MS`](super::attempt::SCHEDULE_MS)). A database failure is logged and retried at the next poll; an attempt that
//! cannot be recorded is repeated after its lease.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::WebhookId;
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::webhooks::outbox::{self, ClaimedDelivery, SenderCapacity};
use probity_store::webhooks::{self, WebhookReceiver};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, work};
use probity_telemetry::metrics::Metrics;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::nodes::NodePresence;
use crate::outbound::HttpTarget;
use crate::secrets::Secrets;
use crate::webhooks::attempt::{PreparedDelivery, ReceiverStates};
use crate::webhooks::lanes::{Admission, BUSY_MS, LaneConfig, Lanes, ReceiverState};
use crate::webhooks::send::Sender;
use crate::webhooks::{Callbacks, TEST};

/// Pause of a delivery to a silent endpoint while too many of those are in progress, in milliseconds.
const SILENT_MS: i64 = 2_000;
/// Maximum wait for a place at an endpoint: a small part of the lease. Without waiting, a fast endpoint would get only as many
/// deliveries per poll as it may have concurrently.
const PLACE_WAIT: Duration = Duration::from_secs(2);
/// Deliveries about rows that are built concurrently. Each reads up to 100 blocks of addresses.
const PUT_TOGETHER_MAX: usize = 4;

/// Settings of deliveries.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryConfig {
    /// Maximum number of deliveries in memory, and so of concurrent attempts.
    pub at_once: usize,
    /// Limits for each host.
    pub lanes: LaneConfig,
    /// Limits for each webhook, and for a customer's callbacks to a host, because many customers may share a host.
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
    /// More, for which there may be room.
    More,
    /// More, for which there is room once an attempt ends.
    WhereOneEnds,
    Nothing,
}

impl DeliveryConfig {
    /// Returns the maximum number of deliveries of one customer in memory, whatever hosts they name. An unknown host counts as
    /// responsive, and new names cost nothing.
    fn share(&self) -> usize {
        (self.at_once / 2).max(1)
    }

    /// Returns the maximum number of deliveries claimed in one transaction. All may be of one customer, so a customer with less
    /// room in its share has to wait; a small number keeps that room small.
    fn claimed_max(&self) -> usize {
        (self.share() / 4).max(1)
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
    /// Lanes of each delivery in memory.
    lanes: HashMap<Id, LanesOf>,
    putting_together: Arc<Semaphore>,
    wake: Arc<Notify>,
    /// Node that must be able to claim work; `None` if this is the only worker.
    node: Option<Arc<NodePresence>>,
}

/// Lanes that a delivery takes.
struct LanesOf {
    host: String,
    /// Lane of the webhook, or of the customer's callbacks to the host.
    own: String,
    customer: OrgNo,
    /// Whether one of the lanes got no response last time.
    is_silent: bool,
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
        self.own.close();
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
    }

    fn room(&self) -> usize {
        self.config.at_once.saturating_sub(self.under_way.len())
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
        if let Some(LanesOf { host, own, .. }) = self.lanes.remove(&id) {
            self.hosts.done(&host, now, heard.host);
            self.own.done(&own, now, heard.own);
        }
    }

    /// Starts a delivery to a webhook, or to its own URL, if its lanes allow that. Otherwise returns the time at which it has to come
    /// back.
    fn start(
        &mut self,
        mut claimed: ClaimedDelivery,
        receiver: Option<Arc<WebhookReceiver>>,
        now: Millis,
    ) -> Option<Millis> {
        if let Some(receiver) = &receiver {
            claimed.url.clone_from(&receiver.url);
        }
        let target = HttpTarget::parse(&claimed.url);
        let host = target.as_ref().map_or_else(|_| String::new(), HttpTarget::lane);
        let own = match &receiver {
            Some(receiver) => receiver.id.to_string(),
            None => format!("{} {host}", claimed.org.0),
        };
        let is_silent = self.hosts.is_silent(&host) || self.own.is_silent(&own);
        let lanes = LanesOf { host, own, customer: claimed.org, is_silent };
        let places = match self.admit(&lanes, now) {
            Admission::Go(places) => places,
            Admission::Later(at) => return Some(at),
        };
        let delivery = PreparedDelivery { claimed, receiver, putting_together: self.putting_together.clone() };
        let parts = self.parts.clone();
        let task = self.under_way.spawn(async move {
            match tokio::time::timeout(PLACE_WAIT, places.acquire()).await {
                Ok(Ok(_place)) => parts.deliver(delivery, target.ok()).await,
                Ok(Err(_)) | Err(_) => parts.hand_back(&delivery.claimed).await,
            }
        });
        self.lanes.insert(task.id(), lanes);
        None
    }

    /// Enters both lanes or none. Silent endpoints have half of all places together.
    fn admit(&mut self, lanes: &LanesOf, now: Millis) -> Admission {
        let silent = self.lanes.values().filter(|lanes| lanes.is_silent).count();
        if lanes.is_silent && silent >= (self.config.at_once / 2).max(1) {
            return Admission::Later(now + SILENT_MS);
        }
        let own = self.own.admit(&lanes.own, now);
        if let Admission::Go(_) = own
            && let Admission::Later(at) = self.hosts.admit(&lanes.host, now)
        {
            self.own.done(&lanes.own, now, ReceiverState::Nothing);
            return Admission::Later(at);
        }
        own
    }
}

/// Claims of due deliveries: as many as there is room for, and none of customers that have their share.
impl Worker {
    /// Claims deliveries for which there is room, and starts those that may go.
    async fn claim(&mut self) -> Due {
        let wanted = self.room().min(self.config.claimed_max());
        let sated = self.sated();
        match self.try_claim(wanted, &sated).await {
            Ok(claimed) if wanted > 0 && claimed == wanted => Due::More,
            Ok(_) if self.room() == 0 || !self.sated().is_empty() => Due::WhereOneEnds,
            Ok(_) => Due::Nothing,
            Err(error) => {
                tracing::warn!(%error, "cannot read the outbox; retrying");
                Due::Nothing
            }
        }
    }

    /// Returns the customers whose next claim could exceed their share.
    fn sated(&self) -> Vec<OrgNo> {
        let mut taken: HashMap<OrgNo, usize> = HashMap::new();
        for lanes in self.lanes.values() {
            *taken.entry(lanes.customer).or_default() += 1;
        }
        let most = self.config.share().saturating_sub(self.config.claimed_max());
        taken.into_iter().filter(|(_, taken)| *taken > most).map(|(customer, _)| customer).collect()
    }

    async fn try_claim(&mut self, wanted: usize, not_of: &[OrgNo]) -> Result<usize, StoreError> {
        let DeliveryParts { store, clock, .. } = &self.parts;
        if self.node.as_ref().is_some_and(|node| !node.may_work()) {
            return Ok(0);
        }
        let now = clock.now();
        let room = SenderCapacity { at_most: u32::try_from(wanted).unwrap_or(u32::MAX), not_of };
        if wanted == 0 || !outbox::any_due(&mut store.read().await?, now, room).await? {
            return Ok(0);
        }
        let (run, lease_ms) = (crate::secrets::random::run(), self.config.lease_ms);
        let claim = store.write(|tx| outbox::claim(tx, now, lease_ms, &run, room).scope_boxed());
        let claimed = claim.await?;
        let receivers = self.receivers_of(&claimed).await?;
        let (count, mut later, mut unwanted) = (claimed.len(), Vec::new(), Vec::new());
        for one in claimed {
            let (org, id) = (one.org, one.id);
            // A callback, or a signer that only a newer version has, is of no webhook.
            let webhook = one.signer.parse::<WebhookId>().ok();
            let receiver = webhook.and_then(|webhook| receivers.get(&(org, webhook)).cloned());
            let is_wanted = receiver.as_ref().is_some_and(|receiver| receiver.active || one.kind == TEST);
            if webhook.is_some() && !is_wanted {
                unwanted.push((org, id));
            } else if let Some(at) = self.start(one, receiver, now) {
                later.push((org, id, at));
            }
        }
        if !(later.is_empty() && unwanted.is_empty()) {
            let handed_back = self.parts.store.write(work!(|tx| {
                outbox::defer(tx, &run, &later).await?;
                outbox::cancel(tx, &run, &unwanted).await
            }));
            handed_back.await?;
        }
        Ok(count)
    }

    /// Returns the webhooks that receive these deliveries.
    async fn receivers_of(
        &self,
        claimed: &[ClaimedDelivery],
    ) -> Result<HashMap<(OrgNo, WebhookId), Arc<WebhookReceiver>>, StoreError> {
        let mut wanted: Vec<(OrgNo, WebhookId)> =
            claimed.iter().filter_map(|one| Some((one.org, one.signer.parse().ok()?))).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let found = webhooks::receivers(&mut self.parts.store.read().await?, &wanted).await?;
        Ok(found.into_iter().map(|one| ((one.org, one.id), Arc::new(one))).collect())
    }
}

impl DeliveryParts {
    /// Releases a delivery that got no place. If that fails, its lease expires.
    async fn hand_back(&self, claimed: &ClaimedDelivery) -> ReceiverStates {
        let until = [(claimed.org, claimed.id, self.clock.now() + BUSY_MS)];
        let handed_back = self.store.write(|tx| outbox::defer(tx, &claimed.run, &until).scope_boxed()).await;
        if let Err(error) = handed_back {
            tracing::warn!(%error, "cannot release a claimed delivery; it is sent when its lease ends");
        }
        ReceiverStates::nothing()
    }
}
