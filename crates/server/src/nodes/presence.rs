//! What this node knows of itself: its name, until when it holds its leases, and what it works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use probity_core::id::NodeId;
use probity_core::time::Millis;
use probity_store::nodes::{self, Lease, Node};
use probity_store::{ScopedFutureExt as _, Store, StoreError};

use super::{LEASE_MS, MARGIN_MS, NodeConfig, SCHEDULE, process};
use crate::error::ApiError;
use crate::roles::Role;

/// By how much longer work need not be looked for while bells of other nodes are heard.
const PATIENCE: u32 = 4;
/// After how long a client may try again whose node had lost its sources, in seconds: other nodes are behind the same name.
const RETRY_S: u32 = 1;

/// What a node does for jobs and holds a lease for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A chunk that is verified.
    Chunk,
    /// A list that is sorted.
    Import,
}

/// This node.
pub(crate) struct Presence {
    row: Node,
    sources: Vec<String>,
    schedules: bool,
    /// Until when this node may ask; for ever where no lease is needed for that.
    asks_until: AtomicI64,
    schedules_until: AtomicI64,
    listening: AtomicBool,
    chunks: AtomicI64,
    imports: AtomicI64,
}

impl Presence {
    /// A node that starts now and holds nothing yet.
    pub(crate) fn new(config: &NodeConfig, now: Millis) -> Self {
        let sources = config.source_leases();
        let row = Node {
            id: config.joined.unwrap_or_else(|| crate::random::id(now)),
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
        };
        Self {
            row,
            asks_until: AtomicI64::new(if sources.is_empty() { i64::MAX } else { i64::MIN }),
            sources,
            schedules: config.roles.has(Role::Schedule),
            schedules_until: AtomicI64::new(i64::MIN),
            listening: AtomicBool::new(false),
            chunks: AtomicI64::new(0),
            imports: AtomicI64::new(0),
        }
    }

    /// Its name.
    pub(crate) fn id(&self) -> NodeId {
        self.row.id
    }

    /// Shows that the node lives and what it sees of its way to mail servers, and takes or renews its leases. Gives those on its sources that another node has.
    pub(super) async fn beat(&self, store: &Store, egress: &str, now: Millis) -> Result<Vec<Lease>, StoreError> {
        let row = Node {
            chunks: self.working_on(Work::Chunk),
            imports: self.working_on(Work::Import),
            seen_at: now,
            egress: egress.to_owned(),
            ..self.row.clone()
        };
        let (id, until) = (self.row.id, now + LEASE_MS);
        // Each in its place: "schedule" comes before "source:".
        let names: Vec<&str> =
            self.schedules.then_some(SCHEDULE).into_iter().chain(self.sources.iter().map(String::as_str)).collect();
        let leases: Vec<Lease> = store
            .write(|tx| {
                async {
                    nodes::beat(tx, &row).await?;
                    let mut leases = Vec::with_capacity(names.len());
                    for name in &names {
                        leases.push(nodes::take(tx, name, id, now, until).await?);
                    }
                    Ok(leases)
                }
                .scope_boxed()
            })
            .await?;
        Ok(self.note(leases))
    }

    /// Keeps what was got; gives the leases on sources that another node has.
    fn note(&self, leases: Vec<Lease>) -> Vec<Lease> {
        let (schedule, sources): (Vec<Lease>, Vec<Lease>) =
            leases.into_iter().partition(|lease| lease.name == SCHEDULE);
        let own = |lease: &Lease| lease.holder == self.row.id;
        let until = |leases: &[Lease]| {
            let all_own = !leases.is_empty() && leases.iter().all(own);
            let ends = leases.iter().map(|lease| lease.until.0 - MARGIN_MS).min();
            ends.filter(|_| all_own).unwrap_or(i64::MIN)
        };
        self.schedules_until.store(until(&schedule), Ordering::Relaxed);
        if !self.sources.is_empty() {
            self.asks_until.store(until(&sources), Ordering::Relaxed);
        }
        sources.into_iter().filter(|lease| !own(lease)).collect()
    }

    /// Whether mail servers may be asked from here: all sources belong to this node.
    pub(crate) fn may_ask(&self, now: Millis) -> bool {
        now.0 < self.asks_until.load(Ordering::Relaxed)
    }

    /// 503 where mail servers may not be asked from here.
    pub(crate) fn check(&self, now: Millis) -> Result<(), ApiError> {
        if self.may_ask(now) {
            return Ok(());
        }
        Err(ApiError::unavailable("the sources of this node do not belong to it now").retry_after(RETRY_S))
    }

    /// Whether there are sources that another node could have.
    pub(crate) fn needs_leases(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether this is the node that does what must be done from time to time.
    pub(crate) fn is_scheduler(&self, now: Millis) -> bool {
        now.0 < self.schedules_until.load(Ordering::Relaxed)
    }

    /// Notes whether bells of other nodes are heard.
    pub(super) fn listens(&self, heard: bool) {
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
