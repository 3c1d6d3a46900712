//! What every node does about every erasure: forgets its addresses, and takes it and its end into its own file of tombstones.
//!
//! A node looks every second at what the database has heard of since, a minute of overlap included: a transaction may be
//! committed after one that began later. Those that were open are asked after until they are completed. It forgets first: a file
//! that
//! cannot be written holds that up for no erasure, and is tried again with each look.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use probity_account::id::ErasureId;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::erasures::{self, Erasure, NewErasure, Stage};
use tokio_util::sync::CancellationToken;

use crate::erasures::{ErasureParts, Heard};
use crate::error::Detail;

/// How often a node looks.
const EVERY: Duration = Duration::from_secs(1);
/// How long a transaction may take from its time to its end, in milliseconds.
const OVERLAP_MS: i64 = 60_000;
/// Erasures that are read or asked after at a time.
const AT_ONCE: usize = 100;

/// Follows until it is told to end.
pub async fn run(eraser: ErasureParts, ending: CancellationToken) {
    if let Err(error) = eraser.erasures.tombstones.load().await {
        tracing::error!(%error, "cannot read the tombstone file");
    }
    let (started, since) = (eraser.clock.now(), Millis(i64::MIN));
    let mut following = Following { eraser: &eraser, started, since, heard: Heard::new(), open: HashMap::new() };
    while !ending.is_cancelled() {
        if let Err(error) = following.look().await {
            tracing::warn!(%error, "cannot read the erasures of other nodes; retrying");
        }
        ending.run_until_cancelled(tokio::time::sleep(EVERY)).await;
    }
}

/// How far a node has followed.
struct Following<'a> {
    eraser: &'a ErasureParts,
    started: Millis,
    /// Up to when everything is heard of.
    since: Millis,
    /// Erasures whose addresses this node has forgotten.
    heard: Heard,
    /// Erasures that are not completed, as far as this node knows.
    open: HashMap<ErasureId, OrgNo>,
}

impl Following<'_> {
    /// Everything that is new since the last look.
    async fn look(&mut self) -> Result<(), Detail> {
        let (mut place, mut newest, mut unwritten) = ((self.since, String::new()), self.since, None);
        let at_once = i64::try_from(AT_ONCE).unwrap_or(i64::MAX);
        loop {
            let found = erasures::known_since(&mut self.eraser.store.read().await?, &place, at_once).await?;
            let Some(last) = found.last() else { break };
            place = (last.known_at, last.id.to_string());
            newest = newest.max(last.known_at);
            for erasure in found {
                if erasure.completed_at.is_none() {
                    self.open.insert(erasure.id, erasure.org);
                }
                // A file that could not be written a moment ago need not be tried for each.
                if self.is_forgotten(&erasure) && (unwritten.is_some() || self.is_written(&erasure)) {
                    continue;
                }
                if let Err(error) = self.take(&erasure).await? {
                    unwritten = Some(error);
                }
            }
        }
        if let Some(error) = unwritten {
            // What is not in the file is looked at again.
            return Err(error.into());
        }
        // A faster clock may have dated one later: others come before it.
        newest = newest.min(self.eraser.clock.now());
        self.since = Millis(newest.0.saturating_sub(OVERLAP_MS)).max(self.since);
        self.ask_after_open().await
    }

    /// Whether nothing of an erasure is in this node's memory: it has forgotten it, or began to remember anything after it was
    /// done, by another's clock.
    fn is_forgotten(&self, erasure: &Erasure) -> bool {
        let was_done = erasure.completed_at.is_some_and(|at| at + OVERLAP_MS < self.started);
        was_done || self.heard.contains(&erasure.id)
    }

    /// Whether the file says of an erasure what the database does.
    fn is_written(&self, erasure: &Erasure) -> bool {
        let file = &self.eraser.erasures.tombstones;
        file.have(erasure.id) && (erasure.completed_at.is_none() || file.have_end(erasure.id))
    }

    /// Forgets an erasure's addresses, once, and writes it into the file; says whether that failed.
    async fn take(&mut self, erasure: &Erasure) -> Result<io::Result<()>, Detail> {
        let Erasure { org, id, test, requested_at, .. } = *erasure;
        let tags = erasures::tags(&mut self.eraser.store.read().await?, org, id).await?;
        let new = NewErasure { org, id, test, tags: tags.iter().copied().collect(), webhook_url: None, requested_at };
        if !self.is_forgotten(erasure) {
            self.heard.insert(id);
            self.eraser.forget(org, test, tags);
        }
        let written = self.eraser.erasures.outlast(&new).await;
        if written.is_err() || erasure.completed_at.is_none() {
            return Ok(written);
        }
        Ok(self.eraser.erasures.tombstones.add_end(org, id).await)
    }

    /// Writes down which of those that were open are completed.
    async fn ask_after_open(&mut self) -> Result<(), Detail> {
        let open: Vec<_> = self.open.iter().map(|(id, org)| (*org, *id)).collect();
        for some in open.chunks(AT_ONCE) {
            let known = erasures::known(&mut self.eraser.store.read().await?, some).await?;
            for (org, id) in some {
                if known.get(&(*org, *id)) == Some(&Stage::Completed) {
                    self.eraser.erasures.tombstones.add_end(*org, *id).await?;
                    self.open.remove(id);
                }
            }
        }
        Ok(())
    }
}
