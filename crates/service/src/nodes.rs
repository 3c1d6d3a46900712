//! This node among the others on its database: its row in the list of nodes, and what belongs to it alone.
//!
//! Every [`BEAT`] a node shows that it lives and renews its leases, in one transaction. A *source*, the public address from
//! which mail servers are asked, belongs to one node at a time, because how often an exchanger may be asked is counted in
//! that node's memory: two nodes behind one address would ask twice as often as the manners of the exchanger allow. So a node
//! that asks mail servers does not start without its sources ([`join`]), and one that loses them, because it was cut off for
//! longer than its lease, takes up no new work until it has them again. Results of work under way are fenced by themselves.
//! The lease `schedule` belongs to the node that does what must be done from time to time ([`crate::upkeep`]).
//!
//! Leases last [`LEASE_MS`] by the database's clock; their holder counts them as ended [`MARGIN_MS`] before. Each sign of life
//! compares the two clocks: a node whose clock is wrong is not ready and takes up no work ([`APART_MAX_MS`]). The time for which a
//! machine was suspended counts ([`Clock`]), so that a lease that ended meanwhile is not relied on.

pub mod look;
pub mod presence;
pub mod process;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::NodeId;
use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::ahead::{self, Longest, When};
use probity_store::nodes::{self, Lease, Node};
use probity_store::{ScopedFutureExt as _, Store, StoreError, clock};
use tokio_util::sync::CancellationToken;

use crate::egress::Egress;
use crate::instance::Instance;
use crate::roles::Roles;

pub use presence::{Presence, Work};

/// How often a node shows that it lives.
pub const BEAT: Duration = Duration::from_secs(5);
/// How long a lease lasts, and after how long without a sign of life a node counts as gone, in milliseconds.
pub const LEASE_MS: i64 = 30_000;
/// How long before its end the holder of a lease stops to rely on it, in milliseconds.
const MARGIN_MS: i64 = 2_000;
/// By how much a node's clock may differ from the database's, in milliseconds.
const APART_MAX_MS: i64 = 2_000;
/// How long nodes that are gone are remembered, in milliseconds.
const REMEMBER_MS: i64 = 3_600_000;
/// How often a node that starts looks whether a lease has come free.
const LOOK: Duration = Duration::from_secs(1);
/// How long it waits at most, in milliseconds: a holder that died has let go by then.
const WAIT_MS: i64 = LEASE_MS + 5_000;

/// The lease of the node that does what must be done from time to time.
const SCHEDULE: &str = "schedule";
/// What the leases on sources begin with.
const SOURCE: &str = "source:";
/// How a source is listed whose public address is not known.
const UNKNOWN: &str = "unknown";

/// What a node is.
#[derive(Clone, Debug, Default)]
pub struct NodeConfig {
    /// Its machine, for people.
    pub hostname: String,
    /// What it does.
    pub roles: Roles,
    /// The public addresses of the sources from which it asks real mail servers, where they are known; nothing where the
    /// mail servers are simulated.
    pub sources: Vec<Option<IpAddr>>,
    /// How it has joined the others ([`join`]); none makes a name up.
    pub joined: Option<Joined>,
}

/// What a node knows once it has joined the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Its name.
    pub id: NodeId,
    /// By how much its clock was ahead of the database's at least, in milliseconds; below zero: behind.
    pub ahead_ms: i64,
}

impl NodeConfig {
    /// The sources that it asks from, as they are listed.
    fn sources_text(&self) -> String {
        let text = |source: &Option<IpAddr>| source.map_or_else(|| UNKNOWN.to_owned(), |address| address.to_string());
        let asked = self.sources.iter().filter(|_| self.roles.asks());
        asked.map(text).collect::<Vec<_>>().join(",")
    }

    /// The leases without which no mail server may be asked, in their order.
    fn source_leases(&self) -> Vec<String> {
        let known = self.sources.iter().flatten().filter(|_| self.roles.asks());
        let mut names: Vec<String> = known.map(|address| format!("{SOURCE}{address}")).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Why a node does not join the others.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The database does not let it.
    #[error("cannot write the list of nodes")]
    Store(#[from] StoreError),
    /// Another node asks from the same address.
    #[error(
        "the source {source_address} belongs to {holder}, which is running: stop that node, or give each node its own \
         [[source]]"
    )]
    Taken {
        /// The public address.
        source_address: String,
        /// The other node: its name and where it runs.
        holder: String,
    },
}

/// Sets right what a clock wrote that was ahead; to be called before anything else is done with a database.
pub async fn set_right(instance: &Instance, longest: &Longest) -> Result<(), StoreError> {
    set_clocks_right(&instance.store, instance.clock.now(), longest, When::AtStart).await
}

/// The same while the service runs, or before.
pub async fn set_clocks_right(store: &Store, now: Millis, longest: &Longest, when: When) -> Result<(), StoreError> {
    let changed = ahead::set_right(store, now, longest, when).await?;
    if changed > 0 {
        tracing::warn!(
            changed,
            "ended leases and retry times that were too far in the future or belonged to a killed process"
        );
    }
    Ok(())
}

/// Joins the nodes on a database and takes the leases on this node's sources; to be called before anything is asked or
/// promised. Waits for a holder that shows no sign of life to lose its lease, and refuses where one does.
pub async fn join(instance: &Instance, config: &NodeConfig) -> Result<Joined, JoinError> {
    let (store, clock) = (&instance.store, instance.clock);
    bury_the_dead(store).await?;
    let presence = Presence::new(config, clock.now());
    match wait_for_sources(&presence, store, clock).await {
        Ok(()) => {}
        Err(error) => {
            // What it has got meanwhile is somebody else's to take.
            let left = store.write(|tx| nodes::leave(tx, presence.id()).scope_boxed()).await;
            left.unwrap_or_else(
                |error| tracing::warn!(%error, "cannot remove a node that did not start; it stays listed for a while"),
            );
            return Err(error);
        }
    }
    warn_of_doubles(config, store, &presence, clock.now()).await?;
    Ok(Joined { id: presence.id(), ahead_ms: presence.ahead_ms() })
}

/// Lets go what nodes hold that were killed on this machine.
async fn bury_the_dead(store: &Store) -> Result<(), StoreError> {
    let listed = nodes::all(&mut store.read().await?).await?;
    for node in listed.into_iter().filter(|node| process::is_dead(&node.process)) {
        store.write(|tx| nodes::leave(tx, node.id).scope_boxed()).await?;
        tracing::info!(node = %node.id, "released the leases of a node that was killed on this machine");
    }
    Ok(())
}

async fn wait_for_sources(presence: &Presence, store: &Store, clock: Clock) -> Result<(), JoinError> {
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

async fn taken(store: &Store, lease: &Lease) -> Result<JoinError, StoreError> {
    let listed = nodes::all(&mut store.read().await?).await?;
    let place = listed.iter().find(|node| node.id == lease.holder).map(|node| format!(" on {}", node.hostname));
    let source_address = lease.name.strip_prefix(SOURCE).unwrap_or(&lease.name).to_owned();
    Ok(JoinError::Taken { source_address, holder: format!("{}{}", lease.holder, place.unwrap_or_default()) })
}

/// Sources whose public address nobody has written down cannot be told apart: two nodes may be behind one address.
async fn warn_of_doubles(
    config: &NodeConfig,
    store: &Store,
    presence: &Presence,
    now: Millis,
) -> Result<(), StoreError> {
    if !config.roles.asks() || !config.sources.contains(&None) {
        return Ok(());
    }
    let mut conn = store.read().await?;
    let (now, listed) = (clock::now(&mut conn, now).await?, nodes::all(&mut conn).await?);
    let other = |node: &&Node| node.id != presence.id() && is_alive(node, now) && node.sources.contains(UNKNOWN);
    for node in listed.iter().filter(other) {
        tracing::warn!(
            node = %node.id, hostname = node.hostname,
            "another node also probes from a source without a known public address; if they share one, mail servers \
             are probed too often: set `public` in each node's [[source]]"
        );
    }
    Ok(())
}

/// Whether a node has shown a sign of life lately, by the clock that it has shown it by.
pub fn is_alive(node: &Node, now: Millis) -> bool {
    now.since(node.seen_at) < LEASE_MS
}

/// Forgets the nodes that have been gone for an hour.
pub(crate) async fn forget_gone(store: &Store, now: Millis) -> Result<(), StoreError> {
    let now = clock::now(&mut store.read().await?, now).await?;
    store.write(|tx| nodes::forget(tx, now - REMEMBER_MS).scope_boxed()).await.map(drop)
}

/// Shows that this node lives until it is told to leave; then takes it off the list and lets its leases go.
pub async fn run(presence: Arc<Presence>, egress: Arc<Egress>, store: Store, clock: Clock, leaving: CancellationToken) {
    let mut told = Told::default();
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

/// What stands in the log already: changes are told once.
#[derive(Default)]
struct Told {
    silent: bool,
    lost: bool,
    apart: bool,
}

impl Told {
    fn tell_of_clock(&mut self, ahead_ms: i64, agrees: bool) {
        if !agrees && !self.apart {
            tracing::error!(
                ahead_ms,
                "this node's clock differs from the database's, so it claims no work: set its clock (NTP), then \
                 restart the node"
            );
        }
        if agrees && self.apart {
            tracing::warn!("this node's clock and the database's agree again");
        }
        self.apart = !agrees;
    }

    fn tell(&mut self, beaten: &Result<Vec<Lease>, StoreError>) {
        match beaten {
            Ok(elsewhere) => {
                self.silent = false;
                if !elsewhere.is_empty() && !self.lost {
                    for Lease { name, holder, .. } in elsewhere {
                        tracing::error!(lease = %name, %holder, "another node has the source; this node stops probing");
                    }
                }
                if elsewhere.is_empty() && self.lost {
                    tracing::warn!("all sources belong to this node again");
                }
                self.lost = !elsewhere.is_empty();
            }
            Err(error) => {
                if !self.silent {
                    tracing::warn!(%error, "cannot write a heartbeat; retrying");
                }
                self.silent = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
