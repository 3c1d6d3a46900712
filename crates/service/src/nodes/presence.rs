//! What this node knows of itself: its name, until when it holds its leases, and what it works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use probity_account::id::NodeId;
use probity_mail::time::Millis;
use probity_store::nodes::{self, Lease, Node};
use probity_store::{ScopedFutureExt as _, Store, StoreError, clock};

use crate::error::ApiError;
use crate::nodes::{APART_MAX_MS, LEASE_MS, MARGIN_MS, NodeConfig, SCHEDULE, process};
use crate::roles::Role;

/// By how much longer work need not be looked for while bells of other nodes are heard.
const PATIENCE: u32 = 4;
/// After how long a client may try again whose node had lost its sources, in seconds: other nodes are behind the same name.
const RETRY_S: u32 = 1;

/// What a node does for jobs and holds a lease for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A chunk that is verified.
    Chunk,
    /// A list that is sorted.
    Import,
}

/// This node.
pub struct Presence {
    row: Node,
    sources: Vec<String>,
    schedules: bool,
    /// Until when this node may ask; for ever where no lease is needed for that.
    asks_until: AtomicI64,
    schedules_until: AtomicI64,
    /// By how much this node's clock is ahead of the database's at least.
    ahead_ms: AtomicI64,
    listening: AtomicBool,
    chunks: AtomicI64,
    imports: AtomicI64,
}

impl Presence {
    /// A node that starts now and holds nothing yet.
    pub fn new(config: &NodeConfig, now: Millis) -> Self {
        let sources = config.source_leases();
        let row = Node {
            id: config.joined.map_or_else(|| crate::random::id(now), |joined| joined.id),
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
            schedules: config.roles.has(Role::Schedule),
            schedules_until: AtomicI64::new(i64::MIN),
            ahead_ms: AtomicI64::new(config.joined.map_or(0, |joined| joined.ahead_ms)),
            listening: AtomicBool::new(false),
            chunks: AtomicI64::new(0),
            imports: AtomicI64::new(0),
        }
    }

    /// Its name.
    pub(crate) fn id(&self) -> NodeId {
        self.row.id
    }

    /// Shows that the node lives and what it sees of its way to mail servers, and takes or renews its leases. `own` is this node's
    /// clock, which is compared with the database's. Gives those leases on its sources that another node has.
    pub(super) async fn beat(
        &self,
        store: &Store,
        egress: &str,
        own: impl Fn() -> Millis + Send + Sync,
    ) -> Result<Vec<Lease>, StoreError> {
        let id = self.row.id;
        let (leases, compared): (Vec<Lease>, Compared) = store
            .write(|tx| {
                async {
                    let asked = own();
                    let there = clock::now(tx, asked).await?;
                    let compared = Compared { asked, there, answered: own() };
                    nodes::beat(tx, &self.row_at(compared, egress)).await?;
                    // Whose clock is wrong would end what has not ended. Each in its place: "schedule" comes before "source:".
                    let schedule = (self.schedules && compared.agree()).then_some(SCHEDULE);
                    let mut leases = Vec::new();
                    for name in schedule.into_iter().chain(self.sources.iter().map(String::as_str)) {
                        leases.push(nodes::take(tx, name, id, there, there + LEASE_MS).await?);
                    }
                    Ok((leases, compared))
                }
                .scope_boxed()
            })
            .await?;
        Ok(self.note(leases, compared))
    }

    /// What is listed of it.
    fn row_at(&self, compared: Compared, egress: &str) -> Node {
        Node {
            chunks: self.working_on(Work::Chunk),
            imports: self.working_on(Work::Import),
            seen_at: compared.there,
            egress: egress.to_owned(),
            ahead_ms: compared.ahead_ms(),
            ..self.row.clone()
        }
    }

    /// Keeps what was got; gives the leases on sources that another node has.
    fn note(&self, leases: Vec<Lease>, compared: Compared) -> Vec<Lease> {
        self.ahead_ms.store(compared.ahead_ms(), Ordering::Relaxed);
        let (schedule, sources): (Vec<Lease>, Vec<Lease>) =
            leases.into_iter().partition(|lease| lease.name == SCHEDULE);
        let own = |lease: &Lease| lease.holder == self.row.id;
        let until = |leases: &[Lease]| {
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

    /// Whether mail servers may be asked from here: all sources belong to this node, and it may take up work.
    pub(crate) fn may_ask(&self, now: Millis) -> bool {
        self.holds_sources(now) && self.may_work()
    }

    /// Whether this node may take up any work, or remove what is old: by a wrong clock, leases that others hold would be over. Each
    /// task that claims by this node's clock asks here first.
    pub(crate) fn may_work(&self) -> bool {
        self.clock_agrees()
    }

    /// Whether all sources belong to this node.
    pub fn holds_sources(&self, now: Millis) -> bool {
        now.0 < self.asks_until.load(Ordering::Relaxed)
    }

    /// By how much this node's clock is ahead of the database's at least, in milliseconds; below zero: behind.
    pub fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }

    /// Whether this node's clock and the database's say the same.
    pub fn clock_agrees(&self) -> bool {
        agree(self.ahead_ms())
    }

    /// 503 where mail servers may not be asked from here.
    pub fn check(&self, now: Millis) -> Result<(), ApiError> {
        if self.may_ask(now) {
            return Ok(());
        }
        let why = if self.clock_agrees() { "this node lost its source IP" } else { "this node's clock is wrong" };
        Err(ApiError::unavailable(why).retry_after(RETRY_S))
    }

    /// Whether there are sources that another node could have.
    pub fn needs_leases(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether this is the node that does what must be done from time to time.
    pub(crate) fn is_scheduler(&self, now: Millis) -> bool {
        now.0 < self.schedules_until.load(Ordering::Relaxed)
    }

    /// Notes whether bells of other nodes are heard.
    pub(crate) fn listens(&self, heard: bool) {
        self.listening.store(heard, Ordering::Relaxed);
    }

    /// Whether bells of other nodes are heard.
    pub(crate) fn is_listening(&self) -> bool {
        self.listening.load(Ordering::Relaxed)
    }

    /// How long to wait before work is looked for again without a bell: `usual`, or longer while bells are heard.
    pub(crate) fn poll(&self, usual: Duration) -> Duration {
        if self.is_listening() { usual * PATIENCE } else { usual }
    }

    /// Counts a piece of work until the value is dropped.
    pub(crate) fn works_on(self: &Arc<Self>, work: Work) -> Working {
        self.count(work).fetch_add(1, Ordering::Relaxed);
        Working { presence: self.clone(), work }
    }

    /// How many pieces are worked on.
    pub(crate) fn working_on(&self, work: Work) -> i64 {
        self.count(work).load(Ordering::Relaxed)
    }

    fn count(&self, work: Work) -> &AtomicI64 {
        match work {
            Work::Chunk => &self.chunks,
            Work::Import => &self.imports,
        }
    }
}

/// This node's clock beside the database's, which was asked at some moment between two others.
#[derive(Clone, Copy, Debug)]
struct Compared {
    /// Before, by this node's clock.
    asked: Millis,
    /// By the database's clock.
    there: Millis,
    /// Afterwards, by this node's clock.
    answered: Millis,
}

impl Compared {
    /// By how much this node's clock is ahead at least.
    fn ahead_ms(self) -> i64 {
        let Self { asked, there, answered } = self;
        if there < asked { asked.0.saturating_sub(there.0) } else { answered.0.saturating_sub(there.0).min(0) }
    }

    fn agree(self) -> bool {
        agree(self.ahead_ms())
    }

    /// When it is so late by this node's clock as `at` is by the database's; a little earlier rather than later.
    fn here(self, at: Millis) -> Millis {
        Millis(at.0.saturating_sub(self.there.0.saturating_sub(self.asked.0)))
    }
}

fn agree(ahead_ms: i64) -> bool {
    ahead_ms.abs() <= APART_MAX_MS
}

/// A piece of work under way.
pub(crate) struct Working {
    presence: Arc<Presence>,
    work: Work,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.presence.count(self.work).fetch_sub(1, Ordering::Relaxed);
    }
}
