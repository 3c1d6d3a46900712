//! Erasing addresses: the worker, the tombstone file, and the caches of every node.
//!
//! An erasure request stores tombstones, first in the database, then in the file beside it ([`mod@file`]), before it is
//! answered. A worker removes the addresses from everything stored for the organization ([`sweep`]). Every node follows the
//! erasure requests ([`mod@follow`]), clears its caches, and adds the requests of other nodes to its own file.
//!
//! A database restored from a backup lacks the latest erasures. Before anything is served, [`restore`] repeats those that the
//! file has and the database lacks or has not completed. After any other stop, there is nothing to repeat.

pub mod file;
pub mod follow;
pub mod names;
pub mod sweep;

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::Secrets;
use probity_account::id::ErasureId;
use probity_contract::error::Detail;
use probity_engine::ForgetRequest;
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::privacy::erasures::{self, ErasureStage, ErasureTurn, NewErasure, SuppressionTag};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::nodes::NodePresence;
use crate::nodes::instance::Instance;
use crate::nodes::verifier::Verifier;
use crate::privacy::erasures::file::{TombstoneEntry, Tombstones};
use crate::privacy::erasures::sweep::{Sweep, SweepStop};
use crate::privacy::mailbox;
use crate::webhooks::Callbacks;

pub use follow::run as follow;

/// Poll interval of the worker without a wake-up.
const POLL: Duration = Duration::from_secs(2);
/// Maximum number of open erasures of an organization's live or test jobs. Each erasure reads all of its lists.
pub const OPEN_MAX: usize = 100;
/// Erasures read from the file at a time.
const LINES: usize = 100;
/// Poll interval while another process repeats an erasure.
const ANOTHERS: Duration = Duration::from_secs(1);
/// Lease of an erasure, in milliseconds, unless the lease of jobs is shorter.
pub const LEASE_MS: i64 = 15_000;
/// Minimum time until an erasure is complete, in milliseconds. Every node has polled the erasure requests by then.
const NODES_MS: i64 = 3_000;

/// Tombstone file of a node, and the wake-up of its worker.
#[derive(Debug)]
pub struct Erasures {
    tombstones: Tombstones,
    /// Notified when an erasure may be pending.
    pub wake: Notify,
}

impl Erasures {
    /// Uses a tombstone file, if the node has one.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { tombstones: Tombstones::at(file), wake: Notify::new() }
    }

    /// Checks that the file can be written. Called before the database stores an erasure.
    pub async fn can_outlast(&self) -> std::io::Result<()> {
        self.tombstones.can_add().await
    }

    /// Adds an erasure to the file, so that it survives a restored backup. Returns once it is on disk. The database must have
    /// it first.
    pub async fn outlast(&self, new: &NewErasure) -> std::io::Result<()> {
        self.tombstones.add(new).await
    }
}

/// Returns the tombstone of an address: a keyed hash of its normal form.
pub fn tag(secrets: &Secrets, org: OrgNo, email: &str) -> SuppressionTag {
    secrets.address_tag(org, &mailbox::normal_form(email).0)
}

/// Whether a text is an address with one of these tombstones, or contains one.
pub fn names_any(secrets: &Secrets, org: OrgNo, tags: &HashSet<SuppressionTag, impl BuildHasher>, text: &str) -> bool {
    names::names(text, &|email| tags.contains(&tag(secrets, org, email)))
}

/// Dependencies of erasures.
#[derive(Clone)]
pub struct ErasureParts {
    pub store: Store,
    pub clock: EngineClock,
    /// Verifier that caches addresses of live keys.
    pub live: Arc<dyn Verifier>,
    /// Verifier that caches addresses of test keys.
    pub sandbox: Arc<dyn Verifier>,
    pub presence: Arc<NodePresence>,
    pub callbacks: Callbacks,
    pub secrets: Arc<Secrets>,
    pub erasures: Arc<Erasures>,
}

impl ErasureParts {
    /// Removes addresses from this node's caches.
    pub fn forget(&self, org: OrgNo, test: bool, tags: HashSet<SuppressionTag>) {
        let (secrets, verifier) = (self.secrets.clone(), if test { &self.sandbox } else { &self.live });
        let scope = org.0.unsigned_abs();
        let tag = Arc::new(move |normalized: &str| secrets.address_tag(org, normalized));
        verifier.forget(scope, &ForgetRequest { tag, tags: Arc::new(tags) });
    }
}

/// Carries out erasures until `ending` is canceled. A lease is no longer than that of jobs.
pub async fn work(eraser: ErasureParts, jobs_lease_ms: i64, ending: CancellationToken) {
    let lease_ms = jobs_lease_ms.min(LEASE_MS);
    let mut turn = ErasureTurn::FIRST;
    while !ending.is_cancelled() {
        match ending.run_until_cancelled(next(&eraser, lease_ms, &mut turn)).await {
            Some(Ok(true)) => continue,
            Some(Ok(false)) | None => {}
            Some(Err(error)) => tracing::warn!(%error, "an erasure was interrupted; retrying"),
        }
        tokio::select! {
            () = ending.cancelled() => {}
            () = eraser.erasures.wake.notified() => {}
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// Carries out an erasure that no run has claimed, of the organization whose turn it is. Returns whether there was one.
async fn next(eraser: &ErasureParts, lease_ms: i64, turn: &mut ErasureTurn) -> Result<bool, Detail> {
    if !eraser.presence.may_work() {
        return Ok(false);
    }
    let tombstones = &eraser.erasures.tombstones;
    let keeper = Keeper { store: &eraser.store, secrets: &eraser.secrets, tombstones, clock: eraser.clock, lease_ms };
    let done = keeper.next(NODES_MS, turn).await?;
    if done {
        eraser.callbacks.wake();
    }
    Ok(done)
}

/// Dependencies of a run.
#[derive(Clone, Copy)]
pub struct Keeper<'a> {
    store: &'a Store,
    secrets: &'a Arc<Secrets>,
    tombstones: &'a Tombstones,
    clock: EngineClock,
    lease_ms: i64,
}

impl Keeper<'_> {
    async fn next(self, nodes_ms: i64, turn: &mut ErasureTurn) -> Result<bool, Detail> {
        let now = self.clock.now();
        if !erasures::any_open(&mut self.store.read().await?, now).await? {
            return Ok(false);
        }
        let run = probity_access::secrets::random::run();
        let this = *turn;
        let claimed = self.store.write(|tx| erasures::claim(tx, now, self.lease_ms, &run, this).scope_boxed()).await?;
        let Some(claimed) = claimed else { return Ok(false) };
        turn.after = claimed.erasure.org;
        let id = claimed.erasure.id;
        let sweep = Sweep::new(self, claimed).await?;
        match sweep.run(nodes_ms).await {
            Ok(()) => tracing::info!(erasure = %id, "addresses were erased"),
            Err(SweepStop::Lost) => tracing::info!(erasure = %id, "another node took over the erasure"),
            Err(SweepStop::Failed(error)) => return Err(error),
        }
        Ok(true)
    }
}

/// Repeats erasures that only the tombstone file has, or that it lists as completed while the database has not processed them.
/// Returns their number. Call before anything is served from the database.
pub async fn restore(instance: &Instance, file: &Path) -> Result<usize, Detail> {
    let (store, clock) = (&instance.store, instance.clock);
    let tombstones = Tombstones::at(Some(file.to_owned()));
    tombstones.load().await?;
    let mut restored = 0;
    let mut lines = file::FileLines::of(file).await?;
    loop {
        let some;
        (lines, some) = lines.next(LINES).await?;
        if some.is_empty() {
            break;
        }
        let asked: Vec<_> = some.iter().map(TombstoneEntry::key).collect();
        let known = erasures::known(&mut store.read().await?, &asked).await?;
        for entry in some {
            let stage = known.get(&entry.key()).copied();
            restored += usize::from(take_again(store, &entry, stage, clock.now()).await?);
        }
    }
    if restored > 0 {
        tracing::warn!(
            restored,
            "the database is older than the tombstone file, for example because a backup was restored; its missing \
             erasures are repeated before the service listens"
        );
    }
    let secrets = &instance.secrets;
    done_again(Keeper { store, secrets, tombstones: &tombstones, clock, lease_ms: LEASE_MS }).await?;
    Ok(restored)
}

/// Records that an erasure must be repeated, if it must. `stage` is its stage in the database; `None` if the database lacks it.
async fn take_again(
    store: &Store,
    entry: &TombstoneEntry,
    stage: Option<ErasureStage>,
    now: Millis,
) -> Result<bool, StoreError> {
    let taken = match (entry, stage) {
        (TombstoneEntry::Wished(new), None) => {
            // An erasure is repeated only if it became known after the request, which a fast clock may have dated ahead.
            let now = now.max(new.requested_at + 1);
            store.write(|tx| erasures::request(tx, new, now).scope_boxed()).await
        }
        (TombstoneEntry::Completed(org, id), Some(ErasureStage::Open)) => {
            store.write(|tx| erasures::do_again(tx, *org, *id, now).scope_boxed()).await
        }
        (TombstoneEntry::Wished(_), Some(_))
        | (TombstoneEntry::Completed(..), None | Some(ErasureStage::Through | ErasureStage::Completed)) => Ok(false),
    };
    match taken {
        // The organization is newer than the backup, so the database has nothing of it.
        Err(StoreError::NotFound) => Ok(false),
        taken => taken,
    }
}

/// Returns once no erasure is left to repeat, whether this start, an interrupted one or another node found it.
async fn done_again(keeper: Keeper<'_>) -> Result<(), Detail> {
    // New requests are left to the running service, so that the start does not wait for them.
    let mut turn = ErasureTurn { only_again: true, ..ErasureTurn::FIRST };
    while erasures::any_done_again(&mut keeper.store.read().await?).await? {
        if !keeper.next(0, &mut turn).await? {
            tracing::info!(
                "waiting for an erasure that another process is repeating, or that a killed process had claimed"
            );
            tokio::time::sleep(ANOTHERS).await;
        }
    }
    Ok(())
}

type Heard = HashSet<ErasureId>;
