//! This node's row in the list of nodes, and its leases.
//!
//! Every [`BEAT`], a node writes a heartbeat and renews its leases, in one transaction. A *source*, the public IP address from
//! which it probes, belongs to one node at a time. Limits of MX hosts are counted in memory, so two nodes behind one address
//! would probe twice as often. A node that probes does not start without its sources ([`join`]). If it loses them, it claims no
//! new work until it has them again; results in progress are fenced. The lease `schedule` belongs to the node that runs
//! maintenance (`upkeep` of the service).
//!
//! Leases last [`LEASE_MS`] by the database's clock; the holder stops relying on them [`MARGIN_MS`] before. Each heartbeat
//! compares the two clocks. A node with a wrong clock is not ready and claims no work ([`APART_MAX_MS`]). Time for which the
//! machine was suspended counts ([`EngineClock`]), so that a lease that expired meanwhile is not relied on.

pub mod asking;
pub mod egress;
pub mod facts;
pub mod health;
pub mod instance;
pub mod look;
pub mod presence;
pub mod process;
pub mod roles;
pub mod verifier;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::NodeId;
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::nodes::ahead::{self, ClockCorrection, ClockLimits};
use probity_store::nodes::{self, NodeLease, StoredNode, clock};
use probity_store::{ScopedFutureExt as _, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::nodes::egress::Egress;
use crate::nodes::instance::Instance;
use crate::nodes::roles::Roles;

pub use presence::{NodePresence, Work};

/// Interval between heartbeats.
pub const BEAT: Duration = Duration::from_secs(5);
/// Duration of a lease, in milliseconds. A node without a heartbeat for this long counts as gone.
pub const LEASE_MS: i64 = 30_000;
/// Time before the end of a lease at which its holder stops relying on it, in milliseconds.
const MARGIN_MS: i64 = 2_000;
/// Maximum difference between a node's clock and the database's, in milliseconds.
const APART_MAX_MS: i64 = 2_000;
/// Time for which nodes that are gone stay listed, in milliseconds.
const REMEMBER_MS: i64 = 3_600_000;
/// Interval at which a starting node checks whether a lease is free.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum wait for a lease, in milliseconds. That of a holder that died has expired by then.
const WAIT_MS: i64 = LEASE_MS + 5_000;

/// Lease of the node that runs maintenance.
const SCHEDULE: &str = "schedule";
/// Prefix of the leases on sources.
const SOURCE: &str = "source:";
/// Listed in place of a source whose public address is not known.
const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug, Default)]
pub struct NodeConfig {
    /// Name of its machine, for people.
    pub hostname: String,
    pub roles: Roles,
    /// Public addresses of the sources from which it probes, `None` if unknown. Empty if MX hosts are simulated.
    pub sources: Vec<Option<IpAddr>>,
    /// Result of [`join`]. Without it, the node gets a new ID.
    pub joined: Option<Joined>,
}

/// Identity and clock of a node that has joined the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    pub id: NodeId,
    /// Minimum time by which its clock is ahead of the database's, in milliseconds; negative if it is behind.
    pub ahead_ms: i64,
}

impl NodeConfig {
    /// Returns the sources from which it probes, as listed.
    fn sources_text(&self) -> String {
        let text = |source: &Option<IpAddr>| source.map_or_else(|| UNKNOWN.to_owned(), |address| address.to_string());
        let asked = self.sources.iter().filter(|_| self.roles.asks());
        asked.map(text).collect::<Vec<_>>().join(",")
    }

    /// Returns the leases that it needs for probing, sorted.
    fn source_leases(&self) -> Vec<String> {
        let known = self.sources.iter().flatten().filter(|_| self.roles.asks());
        let names: BTreeSet<String> = known.map(|address| format!("{SOURCE}{address}")).collect();
        names.into_iter().collect()
    }
}

/// Reason why a node cannot join the others.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The database failed.
    #[error("cannot write the list of nodes")]
    Store(#[from] StoreError),
    /// Another node probes from the same address.
    #[error(
        "the source {source_address} belongs to {holder}, which is running: stop that node, or give each node its own \
         [[source]]"
    )]
    Taken {
        /// Public address of the source.
        source_address: String,
        /// The other node: its ID and machine.
        holder: String,
    },
}

/// Corrects times that a fast clock has written. Call before anything else uses the database.
pub async fn correct_times(instance: &Instance, longest: &ClockLimits) -> Result<(), StoreError> {
    correct_clocks(&instance.store, instance.clock.now(), longest, ClockCorrection::AtStart).await
}

/// Like [`correct_times`], at the start or while the service runs.
pub async fn correct_clocks(
    store: &Store,
    now: Millis,
    longest: &ClockLimits,
    when: ClockCorrection,
) -> Result<(), StoreError> {
    let changed = ahead::correct_times(store, now, longest, when).await?;
    if changed > 0 {
        tracing::warn!(
            changed,
            "ended leases and retry times that were too far in the future or belonged to a killed process"
        );
    }
    Ok(())
}

/// Adds this node to the list and leases its sources. Call before anything is probed or promised. If another node holds a
/// lease, waits for it to expire, and fails if that node renews it.
pub async fn join(instance: &Instance, config: &NodeConfig) -> Result<Joined, JoinError> {
    let (store, clock) = (&instance.store, instance.clock);
    bury_the_dead(store).await?;
    let presence = NodePresence::new(config, clock.now());
    if let Err(error) = wait_for_sources(&presence, store, clock).await {
        // Releases what it has leased so far.
        let left = store.write(|tx| nodes::leave(tx, presence.id()).scope_boxed()).await;
        left.unwrap_or_else(
            |error| tracing::warn!(%error, "cannot remove a node that did not start; it stays listed for a while"),
        );
        return Err(error);
    }
    warn_of_doubles(config, store, &presence, clock.now()).await?;
    Ok(Joined { id: presence.id(), ahead_ms: presence.ahead_ms() })
}

/// Releases the leases of nodes that were killed on this machine.
async fn bury_the_dead(store: &Store) -> Result<(), StoreError> {
    let listed = nodes::all(&mut store.read().await?).await?;
    for node in listed.into_iter().filter(|node| process::is_dead(&node.process)) {
        store.write(|tx| nodes::leave(tx, node.id).scope_boxed()).await?;
        tracing::info!(node = %node.id, "released the leases of a node that was killed on this machine");
    }
    Ok(())
}

async fn wait_for_sources(presence: &NodePresence, store: &Store, clock: EngineClock) -> Result<(), JoinError> {
    let began = clock.now();
    let mut first_seen: BTreeMap<(String, NodeId), Millis> = BTreeMap::new();
    loop {
        let elsewhere = presence.beat(store, "", || clock.now()).await?;
        if elsewhere.is_empty() {
            return Ok(());
        }
        for lease in elsewhere {
            let (name, until) = (lease.name.clone(), lease.until);
            let before = *first_seen.entry((name, lease.holder)).or_insert_with(|| {
                tracing::warn!(
                    lease = %lease.name, holder = %lease.holder,
                    "waiting for another node to release a lease"
                );
                until
            });
            if until > before || clock.now().since(began) > WAIT_MS {
                return Err(taken(store, &lease).await?);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn taken(store: &Store, lease: &NodeLease) -> Result<JoinError, StoreError> {
    let listed = nodes::all(&mut store.read().await?).await?;
    let place = listed.iter().find(|node| node.id == lease.holder).map(|node| format!(" on {}", node.hostname));
    let source_address = lease.name.strip_prefix(SOURCE).unwrap_or(&lease.name).to_owned();
    Ok(JoinError::Taken { source_address, holder: format!("{}{}", lease.holder, place.unwrap_or_default()) })
}

/// Warns of nodes that may share a public address: sources without a known one cannot be told apart.
async fn warn_of_doubles(
    config: &NodeConfig,
    store: &Store,
    presence: &NodePresence,
    now: Millis,
) -> Result<(), StoreError> {
    if !config.roles.asks() || !config.sources.contains(&None) {
        return Ok(());
    }
    let mut conn = store.read().await?;
    let (now, listed) = (clock::now(&mut conn, now).await?, nodes::all(&mut conn).await?);
    let other = |node: &&StoredNode| node.id != presence.id() && is_alive(node, now) && node.sources.contains(UNKNOWN);
    for node in listed.iter().filter(other) {
        tracing::warn!(
            node = %node.id, hostname = node.hostname,
            "another node also probes from a source without a known public address; if they share one, mail servers \
             are probed too often: set `public` in each node's [[source]]"
        );
    }
    Ok(())
}

/// Returns whether a node had a recent heartbeat. `now` is the time of the database, whose clock dates heartbeats.
pub fn is_alive(node: &StoredNode, now: Millis) -> bool {
    now.since(node.seen_at) < LEASE_MS
}

/// Removes nodes that have been gone for an hour from the list.
pub async fn forget_gone(store: &Store, now: Millis) -> Result<(), StoreError> {
    let now = clock::now(&mut store.read().await?, now).await?;
    store.write(|tx| nodes::forget(tx, now - REMEMBER_MS).scope_boxed()).await.map(drop)
}

/// Writes heartbeats until `leaving` is canceled, then removes this node from the list and releases its leases.
pub async fn run(
    presence: Arc<NodePresence>,
    egress: Arc<Egress>,
    store: Store,
    clock: EngineClock,
    leaving: CancellationToken,
) {
    let mut told = LoggedConditions::default();
    while !leaving.is_cancelled() {
        let beaten = presence.beat(&store, &egress.state(clock.now()), || clock.now()).await;
        told.tell(&beaten);
        told.tell_of_clock(presence.ahead_ms(), presence.clock_agrees());
        leaving.run_until_cancelled(tokio::time::sleep(BEAT)).await;
    }
    if let Err(error) = store.write(|tx| nodes::leave(tx, presence.id()).scope_boxed()).await {
        tracing::info!(%error, "cannot remove this node; it stays listed until its lease ends");
    }
}

/// Conditions already in the log. Only changes are logged.
#[derive(Default)]
struct LoggedConditions {
    silent: bool,
    lost: bool,
    apart: bool,
}

impl LoggedConditions {
    fn tell_of_clock(&mut self, ahead_ms: i64, agrees: bool) {
        match (std::mem::replace(&mut self.apart, !agrees), agrees) {
            (false, false) => tracing::error!(
                ahead_ms,
                "this node's clock differs from the database's, so it claims no work: set its clock (NTP), then \
                 restart the node"
            ),
            (true, true) => tracing::warn!("this node's clock and the database's agree again"),
            _ => {}
        }
    }

    fn tell(&mut self, beaten: &Result<Vec<NodeLease>, StoreError>) {
        match beaten {
            Ok(elsewhere) => {
                self.silent = false;
                let was_lost = std::mem::replace(&mut self.lost, !elsewhere.is_empty());
                for NodeLease { name, holder, .. } in elsewhere.iter().filter(|_| !was_lost) {
                    tracing::error!(lease = %name, %holder, "another node has the source; this node stops probing");
                }
                if was_lost && !self.lost {
                    tracing::warn!("all sources belong to this node again");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut self.silent, true) {
                    tracing::warn!(%error, "cannot write a heartbeat; retrying");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
