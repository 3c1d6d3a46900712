//! State of this node: its ID, the ends of its leases, and its work in progress.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_account::id::NodeId;
use probity_contract::error::ApiError;
use probity_engine::locked;
use probity_mail::time::Millis;
use probity_store::nodes::{self, NodeLease, StoredNode, clock};
use probity_store::{Store, StoreError, work};
use tokio::sync::Notify;

use crate::nodes::asking::AskingState;
use crate::nodes::roles::NodeRole;
use crate::nodes::{APART_MAX_MS, LEASE_MS, MARGIN_MS, NodeConfig, SCHEDULE, process};

/// Factor by which poll intervals grow while wake-ups of other nodes are received.
const PATIENCE: u32 = 4;
/// `Retry-After` of a node that has lost its sources, in seconds. Other nodes serve the same name.
const RETRY_S: u32 = 1;

/// Work on jobs that a node does under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Verification of a chunk.
    Chunk,
    /// Sorting of a list.
    Import,
}

pub struct NodePresence {
    row: StoredNode,
    sources: Vec<String>,
    schedules: bool,
    /// Time until which this node may probe; no end if it needs no lease.
    asks_until: AtomicI64,
    schedules_until: AtomicI64,
    /// Minimum time by which this node's clock is ahead of the database's.
    ahead_ms: AtomicI64,
    listening: AtomicBool,
    chunks: AtomicI64,
    imports: AtomicI64,
    asking: Mutex<AskingState>,
    /// Asks for a checkup now.
    again: Notify,
}

impl NodePresence {
    /// Creates the state of a node that starts now and holds no lease yet.
    pub fn new(config: &NodeConfig, now: Millis) -> Self {
        let sources = config.source_leases();
        let row = StoredNode {
            id: config.joined.map_or_else(|| probity_access::secrets::random::id(now), |joined| joined.id),
            hostname: config.hostname.clone(),
            process: process::own(),
            roles: config.roles.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sources: config.sources_text(),
            chunks: 0,
            imports: 0,
            started_at: now,
            seen_at: now,
            egress: String::new(),
            ahead_ms: 0,
        };
        Self {
            row,
            asks_until: AtomicI64::new(if sources.is_empty() { i64::MAX } else { i64::MIN }),
            sources,
            schedules: config.roles.has(NodeRole::Schedule),
            schedules_until: AtomicI64::new(i64::MIN),
            ahead_ms: AtomicI64::new(config.joined.map_or(0, |joined| joined.ahead_ms)),
            listening: AtomicBool::new(false),
            chunks: AtomicI64::new(0),
            imports: AtomicI64::new(0),
            // Without checkups, as with simulated mail servers, nothing is restricted.
            asking: Mutex::new(AskingState::Able),
            again: Notify::new(),
        }
    }

    /// Makes the checkup repeat soon.
    pub fn check_again(&self) {
        self.again.notify_one();
    }

    /// Waits for [`Self::check_again`].
    pub(super) async fn asked_again(&self) {
        self.again.notified().await;
    }

    pub fn id(&self) -> NodeId {
        self.row.id
    }

    /// Writes a heartbeat and the state of the access to MX hosts, and claims or renews the leases. `own` reads this node's
    /// clock, which is compared with the database's. Returns the leases on this node's sources that another node holds.
    pub(super) async fn beat(
        &self,
        store: &Store,
        egress: &str,
        own: impl Fn() -> Millis + Send + Sync,
    ) -> Result<Vec<NodeLease>, StoreError> {
        let id = self.row.id;
        let (leases, compared): (Vec<NodeLease>, Compared) = store
            .write(work!(|tx| {
                let asked = own();
                let there = clock::now(tx, asked).await?;
                let compared = Compared { asked, there, answered: own() };
                nodes::beat(tx, &self.row_at(compared, egress)).await?;
                // With a wrong clock, maintenance would expire things too early. Leases are claimed in the order of their names.
                let schedule = (self.schedules && compared.agree()).then_some(SCHEDULE);
                let mut leases = Vec::new();
                for name in schedule.into_iter().chain(self.sources.iter().map(String::as_str)) {
                    leases.push(nodes::take(tx, name, id, there, there + LEASE_MS).await?);
                }
                Ok((leases, compared))
            }))
            .await?;
        Ok(self.note(leases, compared))
    }

    /// Returns this node's row.
    fn row_at(&self, compared: Compared, egress: &str) -> StoredNode {
        StoredNode {
            chunks: self.working_on(Work::Chunk),
            imports: self.working_on(Work::Import),
            seen_at: compared.there,
            egress: egress.to_owned(),
            ahead_ms: compared.ahead_ms(),
            ..self.row.clone()
        }
    }

    /// Stores the ends of the leases; returns the leases on sources that another node holds.
    fn note(&self, leases: Vec<NodeLease>, compared: Compared) -> Vec<NodeLease> {
        self.ahead_ms.store(compared.ahead_ms(), Ordering::Relaxed);
        let (schedule, sources): (Vec<NodeLease>, Vec<NodeLease>) =
            leases.into_iter().partition(|lease| lease.name == SCHEDULE);
        let own = |lease: &NodeLease| lease.holder == self.row.id;
        let until = |leases: &[NodeLease]| {
            let all_own = !leases.is_empty() && leases.iter().all(own);
            let ends = leases.iter().map(|lease| compared.here(lease.until).0.saturating_sub(MARGIN_MS)).min();
            ends.filter(|_| all_own).unwrap_or(i64::MIN)
        };
        self.schedules_until.store(until(&schedule), Ordering::Relaxed);
        if !self.sources.is_empty() {
            self.asks_until.store(until(&sources), Ordering::Relaxed);
        }
        sources.into_iter().filter(|lease| !own(lease)).collect()
    }

    /// Returns whether this node may probe: it holds all its sources and may claim work.
    pub fn may_ask(&self, now: Millis) -> bool {
        self.holds_sources(now) && self.may_work()
    }

    /// Returns whether this node may claim work or remove old data. By a wrong clock, leases of other nodes would have expired.
    /// Every task that claims by this node's clock checks this first.
    pub fn may_work(&self) -> bool {
        self.clock_agrees()
    }

    /// Returns whether this node holds all its sources.
    pub fn holds_sources(&self, now: Millis) -> bool {
        now.0 < self.asks_until.load(Ordering::Relaxed)
    }

    /// Returns the minimum time by which this node's clock is ahead of the database's, in milliseconds; negative if it is
    /// behind.
    pub fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }

    /// Returns whether this node's clock is within the allowed difference from the database's.
    pub fn clock_agrees(&self) -> bool {
        agree(self.ahead_ms())
    }

    /// Returns whether this machine can probe mail servers, by the last checkup.
    pub fn asking(&self) -> AskingState {
        *locked(&self.asking)
    }

    /// Stores the state from a checkup, and returns the previous one.
    pub(super) fn found_asking(&self, asking: AskingState) -> AskingState {
        std::mem::replace(&mut *locked(&self.asking), asking)
    }

    /// Fails with 503 if this node may not probe.
    pub fn check(&self, now: Millis) -> Result<(), ApiError> {
        if self.may_ask(now) {
            return Ok(());
        }
        let why = if self.clock_agrees() { "this node lost its source IP" } else { "this node's clock is wrong" };
        Err(ApiError::unavailable(why).retry_after(RETRY_S))
    }

    /// Whether this node has sources that need a lease.
    pub fn needs_leases(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether this node runs maintenance.
    pub fn is_scheduler(&self, now: Millis) -> bool {
        now.0 < self.schedules_until.load(Ordering::Relaxed)
    }

    /// Records whether wake-ups of other nodes are received.
    pub fn listens(&self, heard: bool) {
        self.listening.store(heard, Ordering::Relaxed);
    }

    /// Whether wake-ups of other nodes are received.
    pub fn is_listening(&self) -> bool {
        self.listening.load(Ordering::Relaxed)
    }

    /// Returns the poll interval of a task: `usual`, or longer while wake-ups are received.
    pub fn poll(&self, usual: Duration) -> Duration {
        if self.is_listening() { usual * PATIENCE } else { usual }
    }

    /// Counts work in progress until the returned value is dropped.
    pub fn works_on(self: &Arc<Self>, work: Work) -> Working {
        self.count(work).fetch_add(1, Ordering::Relaxed);
        Working { presence: self.clone(), work }
    }

    /// Returns the amount of work in progress.
    pub fn working_on(&self, work: Work) -> i64 {
        self.count(work).load(Ordering::Relaxed)
    }

    fn count(&self, work: Work) -> &AtomicI64 {
        match work {
            Work::Chunk => &self.chunks,
            Work::Import => &self.imports,
        }
    }
}

/// This node's clock and the database's, which was read between two readings of this node's.
#[derive(Clone, Copy, Debug)]
struct Compared {
    /// Time before, by this node's clock.
    asked: Millis,
    /// Time by the database's clock.
    there: Millis,
    /// Time afterwards, by this node's clock.
    answered: Millis,
}

impl Compared {
    /// Returns the minimum time by which this node's clock is ahead.
    fn ahead_ms(self) -> i64 {
        let Self { asked, there, answered } = self;
        if there < asked { asked.0.saturating_sub(there.0) } else { answered.0.saturating_sub(there.0).min(0) }
    }

    fn agree(self) -> bool {
        agree(self.ahead_ms())
    }

    /// Converts a time of the database's clock to this node's, a little too early rather than too late.
    fn here(self, at: Millis) -> Millis {
        Millis(at.0.saturating_sub(self.there.0.saturating_sub(self.asked.0)))
    }
}

fn agree(ahead_ms: i64) -> bool {
    ahead_ms.abs() <= APART_MAX_MS
}

/// Work in progress, counted until it is dropped.
pub struct Working {
    presence: Arc<NodePresence>,
    work: Work,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.presence.count(self.work).fetch_sub(1, Ordering::Relaxed);
    }
}
