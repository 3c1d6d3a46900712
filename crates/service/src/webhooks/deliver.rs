//! The worker that delivers what waits in the outbox.
//!
//! It claims messages that are due, sends each in a task of its own and records what came of it. Several workers share one
//! outbox: a claim is a lease, and a message whose worker died is claimed again when its lease ends. So a message is sent at
//! least once, and a receiver knows a repeated one by its `webhook-id`.
//!
//! Bounds: [`DeliveryConfig::at_once`] messages in memory, under way or kept until a lane is free ([`kept`]), and half of them to
//! receivers that were silent when they were last asked, and half of them to one customer, however many hosts that one names; a
//! lane for each webhook, or for what a customer's batches name on a host, and one for each host ([`super::lanes`]), so that one
//! that hangs holds up itself only; seven repetitions ([`SCHEDULE_MS`](super::attempt::SCHEDULE_MS)). A database that fails is
//! logged and asked again at the next poll; an attempt that could not be recorded is made again after its lease.
//!
//! Where a message to a webhook goes is read when it is claimed: what waits for a webhook that is gone or disabled is
//! cancelled when its turn comes.

pub mod kept;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::WebhookId;
use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::outbox::{self, Claimed, Room};
use probity_store::webhooks::{self, Receiver};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};
use tokio::sync::{Notify, Semaphore};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::nodes::Presence;
use crate::ops::metrics::Metrics;
use crate::secrets::Secrets;
use crate::webhooks::attempt::{Errand, HeardBy};
use crate::webhooks::deliver::kept::{Back, Kept};
use crate::webhooks::lanes::{Admission, Heard, LaneConfig, Lanes, Sort};
use crate::webhooks::send::Sender;
use crate::webhooks::target::Target;
use crate::webhooks::{Callbacks, TEST};

/// How soon a message comes back whose receiver is silent, where too many of those are asked, in milliseconds.
const SILENT_MS: i64 = 2_000;
/// How many messages one transaction claims.
const CLAIMED_MAX: usize = 32;
/// Messages about rows that are put together at a time: each reads up to a hundred blocks of addresses.
const PUT_TOGETHER_MAX: usize = 4;

/// How deliveries are made.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryConfig {
    /// Attempts at a time.
    pub at_once: usize,
    /// What each host is spared.
    pub lanes: LaneConfig,
    /// What each webhook may take of that, or a customer's batches together: less, because many customers' may lie on one host.
    pub own_lanes: LaneConfig,
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
            own_lanes: LaneConfig { at_once: 2, ..LaneConfig::default() },
            lease_ms: 20_000,
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(11),
        }
    }
}

/// What may be due after a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// More, for which there may be room.
    More,
    /// More, for which there is room when an attempt ends.
    WhereOneEnds,
    /// Nothing.
    Nothing,
}

impl DeliveryConfig {
    /// How many attempts one customer may have under way, whatever hosts that one names: a host that nobody has heard of yet
    /// counts as lively, and new names cost nothing.
    fn share(&self) -> usize {
        (self.at_once / 2).max(1)
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
    hosts: Lanes,
    own: Lanes,
    under_way: JoinSet<HeardBy>,
    /// The lanes of each attempt under way.
    lanes: HashMap<Id, LanesOf>,
    /// What waits for one of them, the oldest first.
    kept: Vec<Kept>,
    /// What was kept in vain and has to be handed back.
    back: Back,
    putting_together: Arc<Semaphore>,
    wake: Arc<Notify>,
    /// Whose clock it goes by; none where it is the only worker.
    node: Option<Arc<Presence>>,
}

/// The lanes that an attempt takes.
#[derive(Clone)]
pub struct LanesOf {
    host: String,
    /// Of the webhook, or of a customer on the host.
    own: String,
    customer: OrgNo,
    /// Silent where one of them was so when it was last asked.
    sort: Sort,
}

/// Where a message goes.
enum To {
    /// To the URL that it carries.
    Elsewhere,
    /// To this webhook.
    Webhook(Arc<Receiver>),
    /// To a webhook that is gone.
    Nobody,
}

/// What is done with a message that was claimed.
enum Then {
    /// It is on its way, or will be as soon as a lane is free.
    Started,
    /// It is put off.
    Later(Millis),
    /// Nobody wants it any more.
    Unwanted,
}

impl Worker {
    /// A worker that `callbacks` wakes.
    pub fn new(parts: Parts, callbacks: &Callbacks, config: DeliveryConfig) -> Self {
        Self {
            parts,
            config,
            hosts: Lanes::new(config.lanes),
            own: Lanes::new(config.own_lanes),
            under_way: JoinSet::new(),
            lanes: HashMap::new(),
            kept: Vec::new(),
            back: Back::default(),
            putting_together: Arc::new(Semaphore::new(PUT_TOGETHER_MAX)),
            wake: callbacks.waker(),
            node: None,
        }
    }

    /// The same, which claims only while this node may.
    #[must_use]
    pub fn of_node(self, node: Arc<Presence>) -> Self {
        Self { node: Some(node), ..self }
    }

    /// Works until it is told to end; then lets what is under way end too, for as long as that may take.
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

    /// Delivers everything that is due now and can go, and returns when all of those attempts have ended.
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
            Err(error) => (error.id(), HeardBy::nothing()),
        };
        let now = self.parts.clock.now();
        if let Some(LanesOf { host, own, sort, .. }) = self.lanes.remove(&id) {
            self.hosts.done(&host, sort, now, heard.host);
            self.own.done(&own, sort, now, heard.own);
        }
        self.start_kept(now);
    }

    /// Claims what there is room for and starts what may go.
    async fn claim(&mut self) -> Due {
        self.hand_back().await;
        let wanted = self.room().min(CLAIMED_MAX);
        let sated = self.sated();
        match self.try_claim(wanted, &sated).await {
            Ok(claimed) if wanted > 0 && claimed == wanted => Due::More,
            // Also of those who have got their share just now: what was too much was handed back.
            Ok(_) if self.room() == 0 || !self.sated().is_empty() => Due::WhereOneEnds,
            Ok(_) => Due::Nothing,
            Err(error) => {
                tracing::warn!(%error, "cannot read the outbox; retrying");
                Due::Nothing
            }
        }
    }

    /// Customers who have their share of all places, or a message kept that waits for it.
    fn sated(&self) -> Vec<OrgNo> {
        let mut taken: HashMap<OrgNo, usize> = HashMap::new();
        for lanes in self.lanes.values().chain(self.kept.iter().map(|kept| &kept.lanes)) {
            *taken.entry(lanes.customer).or_default() += 1;
        }
        taken.into_iter().filter(|(_, taken)| *taken >= self.config.share()).map(|(customer, _)| customer).collect()
    }

    fn has_its_share(&self, customer: OrgNo) -> bool {
        self.lanes.values().filter(|lanes| lanes.customer == customer).count() >= self.config.share()
    }

    async fn try_claim(&mut self, wanted: usize, not_of: &[OrgNo]) -> Result<usize, StoreError> {
        let Parts { store, clock, .. } = &self.parts;
        if self.node.as_ref().is_some_and(|node| !node.may_work()) {
            return Ok(0);
        }
        let now = clock.now();
        let room = Room { at_most: u32::try_from(wanted).unwrap_or(u32::MAX), not_of };
        if wanted == 0 || !outbox::any_due(&mut store.read().await?, now, room).await? {
            return Ok(0);
        }
        let (run, lease_ms) = (crate::secrets::hex(&crate::random::bytes::<16>()), self.config.lease_ms);
        let claim = store.write(|tx| outbox::claim(tx, now, lease_ms, &run, room).scope_boxed());
        let claimed = claim.await?;
        let receivers = self.receivers_of(&claimed).await?;
        let (count, mut later, mut unwanted) = (claimed.len(), Vec::new(), Vec::new());
        for one in claimed {
            let (org, id) = (one.org, one.id);
            let to = match one.signer.parse::<WebhookId>() {
                // A batch's own URL, or somebody whom only a newer version knows.
                Err(_) => To::Elsewhere,
                Ok(webhook) => receivers.get(&(org, webhook)).cloned().map_or(To::Nobody, To::Webhook),
            };
            match self.start(one, to, now) {
                Then::Started => {}
                Then::Later(at) => later.push((org, id, at)),
                Then::Unwanted => unwanted.push((org, id)),
            }
        }
        if !(later.is_empty() && unwanted.is_empty()) {
            let handed_back = self.parts.store.write(|tx| {
                async {
                    outbox::defer(tx, &run, &later).await?;
                    outbox::cancel(tx, &run, &unwanted).await
                }
                .scope_boxed()
            });
            handed_back.await?;
        }
        Ok(count)
    }

    /// The webhooks to which these messages go.
    async fn receivers_of(
        &self,
        claimed: &[Claimed],
    ) -> Result<HashMap<(OrgNo, WebhookId), Arc<Receiver>>, StoreError> {
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

    /// Starts an attempt, if its lanes are free.
    fn start(&mut self, mut claimed: Claimed, to: To, now: Millis) -> Then {
        let receiver = match to {
            To::Elsewhere => None,
            To::Webhook(receiver) if receiver.active || claimed.kind == TEST => Some(receiver),
            To::Webhook(_) | To::Nobody => return Then::Unwanted,
        };
        if let Some(receiver) = &receiver {
            claimed.url.clone_from(&receiver.url);
        }
        let target = Target::parse(&claimed.url);
        let host = target.as_ref().map_or_else(|_| String::new(), Target::lane);
        let own = match &receiver {
            Some(receiver) => receiver.id.to_string(),
            None => format!("{} {host}", claimed.org.0),
        };
        let silent = self.hosts.is_silent(&host) || self.own.is_silent(&own);
        let lanes =
            LanesOf { host, own, customer: claimed.org, sort: if silent { Sort::Silent } else { Sort::Lively } };
        let errand = Errand { claimed, receiver, putting_together: self.putting_together.clone() };
        let ready = Kept { errand, target: target.ok(), lanes, since: now };
        if self.may_keep(&ready.lanes) {
            self.kept.push(ready);
            return Then::Started;
        }
        match self.admit(&ready.lanes, now) {
            Admission::Go => {
                self.send(ready, now);
                Then::Started
            }
            Admission::Later(at) => Then::Later(at),
        }
    }

    /// Sends what has its places.
    fn send(&mut self, ready: Kept, now: Millis) {
        let Kept { errand, target, lanes, .. } = ready;
        let parts = self.parts.clone();
        let task = self.under_way.spawn(async move { parts.deliver(errand, target, now).await });
        self.lanes.insert(task.id(), lanes);
    }

    /// Takes a place in each of its lanes, or in none. The silent ones have half of all places together.
    fn admit(&mut self, lanes: &LanesOf, now: Millis) -> Admission {
        let silent = self.lanes.values().filter(|lanes| lanes.sort == Sort::Silent).count();
        if lanes.sort == Sort::Silent && silent >= (self.config.at_once / 2).max(1) {
            return Admission::Later(now + SILENT_MS);
        }
        if self.has_its_share(lanes.customer) {
            // Nothing of this customer's is claimed before one of its attempts ends.
            return Admission::Later(now);
        }
        if let Admission::Later(at) = self.own.admit(&lanes.own, lanes.sort, now) {
            return Admission::Later(at);
        }
        let admission = self.hosts.admit(&lanes.host, lanes.sort, now);
        if let Admission::Later(_) = admission {
            self.own.done(&lanes.own, lanes.sort, now, Heard::Nothing);
        }
        admission
    }
}
