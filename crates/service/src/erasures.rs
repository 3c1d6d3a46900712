//! Erasing addresses: the worker that carries erasures out, the file that survives a restored backup, and what every node forgets.
//!
//! An erasure is written as tombstones, first into the database and then into the file beside it ([`mod@file`]), and is
//! answered. A worker sweeps through what the organization keeps ([`sweep`]); every node follows the list of erasures
//! ([`mod@follow`]), forgets what it has in memory, and takes those that other nodes were asked for into its own file. At the
//! start, before anything is served, erasures of the file that the database does not know, or whose end it does not know, are
//! done again: the database was restored from a backup of before ([`restore`]). After any other end of a service there are none.

pub mod file;
pub mod follow;
pub mod names;
pub mod sweep;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::ErasureId;
use probity_engine::Forgotten;
use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::erasures::{self, NewErasure, Stage, Tag, Turn};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::erasures::file::{Entry, Tombstones};
use crate::erasures::sweep::{Stop, Sweep};
use crate::error::Detail;
use crate::instance::Instance;
use crate::mailbox;
use crate::nodes::Presence;
use crate::secrets::Secrets;
use crate::verifier::Verifier;
use crate::webhooks::Callbacks;

pub use follow::run as follow;

/// How long the worker waits without being told.
const POLL: Duration = Duration::from_secs(2);
/// Erasures of an organization's live or test jobs that may be open: each reads all of its lists.
pub const OPEN_MAX: usize = 100;
/// Erasures that are read from the file at a time.
const LINES: usize = 100;
/// How often it is looked whether another node is done with what is done again.
const ANOTHERS: Duration = Duration::from_secs(1);
/// For how long a run holds an erasure without a sign of life, in milliseconds, where jobs are not held for a shorter time.
pub const LEASE_MS: i64 = 15_000;
/// How long an erasure waits at least before it is complete, in milliseconds: every node has looked at the list by then.
const NODES_MS: i64 = 3_000;

/// Erasures of a node.
#[derive(Debug)]
pub struct Erasures {
    tombstones: Tombstones,
    /// Rung when there may be something to erase.
    pub wake: Notify,
}

impl Erasures {
    /// With a file for tombstones, where there is one.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { tombstones: Tombstones::at(file), wake: Notify::new() }
    }

    /// Whether the file can be written, asked before the database takes an erasure down.
    pub async fn can_outlast(&self) -> std::io::Result<()> {
        self.tombstones.can_add().await
    }

    /// Makes sure that an erasure survives a restored backup: it is in the file when this returns. The database must have it.
    pub async fn outlast(&self, new: &NewErasure) -> std::io::Result<()> {
        self.tombstones.add(new).await
    }
}

/// What is known of an address that is to be erased.
pub fn tag(secrets: &Secrets, org: OrgNo, email: &str) -> Tag {
    secrets.address_tag(org, &mailbox::normal_form(email).0)
}

/// What carrying erasures out needs of the service.
#[derive(Clone)]
pub struct ErasureParts {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    /// Who has addresses of live keys in memory.
    pub(crate) live: Arc<dyn Verifier>,
    /// Who has addresses of test keys in memory.
    pub(crate) sandbox: Arc<dyn Verifier>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) callbacks: Callbacks,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) erasures: Arc<Erasures>,
}

impl ErasureParts {
    /// Lets this node forget what it has in memory of addresses.
    pub fn forget(&self, org: OrgNo, test: bool, tags: HashSet<Tag>) {
        let (secrets, verifier) = (self.secrets.clone(), if test { &self.sandbox } else { &self.live });
        let scope = org.0.unsigned_abs();
        let tag = Arc::new(move |normalized: &str| secrets.address_tag(org, normalized));
        verifier.forget(scope, &Forgotten { tag, tags: Arc::new(tags) });
    }
}

/// Makes sure that an erasure survives a restored backup, for a process that keeps no list of what is in the file.
pub(crate) async fn write_down(file: &Path, new: &NewErasure) -> std::io::Result<()> {
    Tombstones::at(Some(file.to_owned())).add(new).await
}

/// Carries erasures out until it is told to end. What a run holds it holds for no longer than work on jobs is held.
pub async fn work(eraser: ErasureParts, jobs_lease_ms: i64, ending: CancellationToken) {
    let lease_ms = jobs_lease_ms.min(LEASE_MS);
    let mut turn = Turn::FIRST;
    while !ending.is_cancelled() {
        let pause = match ending.run_until_cancelled(next(&eraser, lease_ms, &mut turn)).await {
            Some(Ok(true)) => continue,
            Some(Ok(false)) | None => POLL,
            Some(Err(error)) => {
                tracing::warn!(%error, "an erasure was interrupted; retrying");
                POLL
            }
        };
        tokio::select! {
            () = ending.cancelled() => {}
            () = eraser.erasures.wake.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Carries an erasure out that nobody works on, of the organization whose turn it is; says whether there was one.
async fn next(eraser: &ErasureParts, lease_ms: i64, turn: &mut Turn) -> Result<bool, Detail> {
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

/// What carrying out needs.
#[derive(Clone, Copy)]
pub struct Keeper<'a> {
    store: &'a Store,
    secrets: &'a Arc<Secrets>,
    tombstones: &'a Tombstones,
    clock: Clock,
    lease_ms: i64,
}

impl Keeper<'_> {
    async fn next(self, nodes_ms: i64, turn: &mut Turn) -> Result<bool, Detail> {
        let now = self.clock.now();
        if !erasures::any_open(&mut self.store.read().await?, now).await? {
            return Ok(false);
        }
        let run = crate::secrets::hex(&crate::random::bytes::<16>());
        let this = *turn;
        let claimed = self.store.write(|tx| erasures::claim(tx, now, self.lease_ms, &run, this).scope_boxed()).await?;
        let Some(claimed) = claimed else { return Ok(false) };
        turn.after = claimed.erasure.org;
        let id = claimed.erasure.id;
        let sweep = Sweep::new(self, claimed).await?;
        match sweep.run(nodes_ms).await {
            Ok(()) => tracing::info!(erasure = %id, "addresses were erased"),
            Err(Stop::Lost) => tracing::info!(erasure = %id, "another node took over the erasure"),
            Err(Stop::Failed(error)) => return Err(error),
        }
        Ok(true)
    }
}

/// Does erasures again that are in the file beside the database and unknown to the database, or completed in the file and not gone
/// through in the database; says how many. Call before anything is served from the database.
pub async fn restore(instance: &Instance, file: &Path) -> Result<usize, Detail> {
    let (store, clock) = (&instance.store, instance.clock);
    let tombstones = Tombstones::at(Some(file.to_owned()));
    tombstones.load().await?;
    let mut restored = 0;
    let mut lines = file::Lines::of(file).await?;
    loop {
        let some;
        (lines, some) = lines.next(LINES).await?;
        if some.is_empty() {
            break;
        }
        let asked: Vec<_> = some.iter().map(Entry::key).collect();
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

/// Takes down that an erasure is to be done again, if it is; `stage` is what the database says of it, where it knows it.
async fn take_again(store: &Store, entry: &Entry, stage: Option<Stage>, now: Millis) -> Result<bool, StoreError> {
    let taken = match (entry, stage) {
        (Entry::Wished(new), None) => {
            // What was heard of no later than it was wished is not done again, and a faster clock may have dated it.
            let now = now.max(new.requested_at + 1);
            store.write(|tx| erasures::request(tx, new, now).scope_boxed()).await
        }
        (Entry::Completed(org, id), Some(Stage::Open)) => {
            store.write(|tx| erasures::do_again(tx, *org, *id, now).scope_boxed()).await
        }
        (Entry::Wished(_), Some(_)) | (Entry::Completed(..), None | Some(Stage::Through | Stage::Completed)) => {
            Ok(false)
        }
    };
    match taken {
        // Its organization is younger than the backup: there is nothing of it here.
        Err(StoreError::NotFound) => Ok(false),
        taken => taken,
    }
}

/// Returns when nothing is left to be done again, which this start has found, one before that died over it, or another node.
async fn done_again(keeper: Keeper<'_>) -> Result<(), Detail> {
    // Others wait for the service: it need not wait for them.
    let mut turn = Turn { only_again: true, ..Turn::FIRST };
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

/// An erasure's name in the file.
type Heard = HashSet<ErasureId>;
