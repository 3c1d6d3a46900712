//! Follows all erasure requests: clears this node's caches, and adds requests and ends to its own tombstone file.
//!
//! A node polls the database every second for new erasures. Polls overlap by one minute, because transactions can commit out of
//! order. It checks open erasures until they are completed. Caches are cleared first: a file that cannot be written delays no
//! erasure, and every poll retries it.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use probity_account::id::ErasureId;
use probity_contract::error::Detail;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::privacy::erasures::{self, ErasureRequest, ErasureStage, NewErasure};
use tokio_util::sync::CancellationToken;

use crate::privacy::erasures::{ErasureParts, Heard};

/// Interval between polls.
const EVERY: Duration = Duration::from_secs(1);
/// Maximum time between a transaction's timestamp and its commit, in milliseconds.
const OVERLAP_MS: i64 = 60_000;
/// Erasures read or checked at a time.
const AT_ONCE: usize = 100;

/// Follows erasures until `ending` is canceled.
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

/// State of a node that follows erasures.
struct Following<'a> {
    eraser: &'a ErasureParts,
    started: Millis,
    /// Time up to which all erasures are known.
    since: Millis,
    /// Erasures whose addresses were removed from this node's caches.
    heard: Heard,
    /// Erasures that are not completed, as far as this node has read.
    open: HashMap<ErasureId, OrgNo>,
}

impl Following<'_> {
    /// Handles everything that is new since the last poll.
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
                // After a failed write, the file is not retried for each erasure.
                if self.is_forgotten(&erasure) && (unwritten.is_some() || self.is_written(&erasure)) {
                    continue;
                }
                if let Err(error) = self.take(&erasure).await? {
                    unwritten = Some(error);
                }
            }
        }
        if let Some(error) = unwritten {
            // `since` stays, so that the next poll retries the missing lines.
            return Err(error.into());
        }
        // A fast clock may have dated an erasure ahead, and others come before it.
        newest = newest.min(self.eraser.clock.now());
        self.since = Millis(newest.0.saturating_sub(OVERLAP_MS)).max(self.since);
        self.ask_after_open().await
    }

    /// Whether this node's caches have nothing of an erasure. They were cleared, or the node started after the erasure was
    /// completed, with a margin for another node's clock.
    fn is_forgotten(&self, erasure: &ErasureRequest) -> bool {
        let was_done = erasure.completed_at.is_some_and(|at| at + OVERLAP_MS < self.started);
        was_done || self.heard.contains(&erasure.id)
    }

    /// Whether the file has all that the database says of an erasure.
    fn is_written(&self, erasure: &ErasureRequest) -> bool {
        let file = &self.eraser.erasures.tombstones;
        file.have(erasure.id) && (erasure.completed_at.is_none() || file.have_end(erasure.id))
    }

    /// Removes an erasure's addresses from the caches, once, and adds it to the file. The inner result is that of the file.
    async fn take(&mut self, erasure: &ErasureRequest) -> Result<io::Result<()>, Detail> {
        let ErasureRequest { org, id, test, requested_at, .. } = *erasure;
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

    /// Adds the ends of open erasures that are completed now.
    async fn ask_after_open(&mut self) -> Result<(), Detail> {
        let open: Vec<_> = self.open.iter().map(|(id, org)| (*org, *id)).collect();
        for some in open.chunks(AT_ONCE) {
            let known = erasures::known(&mut self.eraser.store.read().await?, some).await?;
            for (org, id) in some {
                if known.get(&(*org, *id)) == Some(&ErasureStage::Completed) {
                    self.eraser.erasures.tombstones.add_end(*org, *id).await?;
                    self.open.remove(id);
                }
            }
        }
        Ok(())
    }
}
