//! Chooses the next chunk: of the organization served least lately, of its oldest job, for a destination that has room.
//!
//! Work is counted in addresses without an outcome, so a chunk with 3 slow rows left uses almost no capacity. One job gets at
//! most half of it while others wait. A quarter is reserved for jobs without a running chunk, so that a small job beside a huge
//! one starts soon. A chunk of one destination is not claimed while that destination has no room: the engine reads this from
//! memory ([`Verifier::room`]). Live calls do not pass through here; the engine reserves connections for them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use crate::jobs::busy::{BusyWork, Capacity};
use probity_engine::DestinationCapacity;
use probity_mail::time::Millis;
use probity_store::jobs::{self, ChunkGroup, ClaimedChunk, OpenJob};
use probity_store::{ScopedFutureExt as _, StoreError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::jobs::{Jobs, work};
use crate::nodes::verifier::Verifier;

/// Open jobs considered for the next chunk.
const LOOK_MAX: i64 = 1_000;
/// Groups of a job's chunks considered together.
const HEADS: i64 = 64;
/// Maximum number of times that further groups are considered because some had no room.
const HEADS_AGAIN: usize = 8;
/// Poll interval without a wake-up.
const POLL: Duration = Duration::from_millis(500);
/// Pause after a failure.
const REST: Duration = Duration::from_secs(2);
/// Maximum time until the engine counts a claimed chunk, in milliseconds: that of a DNS query.
const ON_ITS_WAY_MS: i64 = 1_000;

/// Claims chunks and runs workers until `ending` is canceled, then waits until all chunks are released.
pub async fn run(jobs: Jobs, ending: CancellationToken) {
    let mut node = DispatchNode {
        busy: BusyWork::new(Capacity::of_slots(jobs.config.slots)),
        running: JoinSet::new(),
        jobs,
        ending,
    };
    let mut is_failing = false;
    while !node.ending.is_cancelled() {
        let filled = node.fill().await;
        let was_failing = std::mem::replace(&mut is_failing, filled.is_err());
        let pause = match filled {
            Ok(()) => node.jobs.presence.poll(POLL),
            Err(error) => {
                if !was_failing {
                    tracing::warn!(%error, "cannot claim work; retrying");
                }
                REST
            }
        };
        node.wait(pause).await;
    }
    while node.running.join_next().await.is_some() {}
}

/// Dispatcher of a node.
struct DispatchNode {
    jobs: Jobs,
    ending: CancellationToken,
    busy: BusyWork,
    running: JoinSet<()>,
}

impl DispatchNode {
    /// Waits for a wake-up, the end of a chunk, or the end of the pause.
    async fn wait(&mut self, pause: Duration) {
        let mut ended = None;
        tokio::select! {
            () = self.ending.cancelled() => {}
            () = self.jobs.wake.work.notified() => {}
            one = self.running.join_next_with_id(), if !self.running.is_empty() => ended = one,
            () = tokio::time::sleep(pause) => {}
        }
        while let Some(one) = ended {
            self.busy.ended(match one {
                Ok((task, ())) => task,
                Err(panicked) => panicked.id(),
            });
            ended = self.running.try_join_next_with_id();
        }
    }

    /// Claims chunks as long as there is capacity.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let now = self.jobs.now();
        self.busy.forget(now);
        if self.busy.is_full() || !self.jobs.presence.may_ask(now) {
            return Ok(());
        }
        let mut open = jobs::open(&mut self.jobs.store.read().await?, now, LOOK_MAX).await?;
        if !self.jobs.presence.asking().is_able() {
            // Live lists wait unless they are being finished early.
            open.retain(|open| open.test || open.hurried);
        }
        while let Some(chosen) = self.busy.choose(&open, now) {
            let taken = match self.take(&chosen, now).await {
                Err(error @ StoreError::Unavailable { .. }) => return Err(error),
                // A failure of one job must not affect the others.
                Err(error) => {
                    tracing::error!(%error, job = chosen.job.0, "cannot claim work of a job");
                    None
                }
                Ok(taken) => taken,
            };
            if let Some((head, claimed)) = taken {
                self.begin(chosen, &head, claimed, now);
            } else {
                self.busy.rest(chosen.job, now);
                open.retain(|open| open.job != chosen.job);
            }
        }
        Ok(())
    }

    /// Claims a chunk of a job whose destination has room; `None` if there is none.
    async fn take(&mut self, open: &OpenJob, now: Millis) -> Result<Option<(ChunkGroup, ClaimedChunk)>, StoreError> {
        for _ in 0..HEADS_AGAIN {
            let (of, without) = ((open.org, open.job), self.busy.without(open.test));
            let sources = self.verifier(open.test).source_names();
            let mut conn = self.jobs.store.read().await?;
            let heads = jobs::heads(&mut conn, of, &sources, &without, now, HEADS).await?;
            drop(conn);
            let mut is_any_shut = false;
            for head in heads {
                let rows = match self.room(&head, open.test) {
                    DestinationCapacity::Now(rows) => rows,
                    DestinationCapacity::At(until) => {
                        self.busy.shut(&head, open.test, until, now);
                        is_any_shut = true;
                        continue;
                    }
                };
                // Other nodes may have claimed the last chunks of the group.
                if let Some(claimed) = self.claim(&head, now).await? {
                    if i64::from(rows) <= claimed.size {
                        self.busy.shut(&head, open.test, now + ON_ITS_WAY_MS, now);
                    }
                    return Ok(Some((head, claimed)));
                }
            }
            // Further groups may be hidden behind those without room.
            if !is_any_shut {
                break;
            }
        }
        Ok(None)
    }

    fn room(&self, head: &ChunkGroup, test: bool) -> DestinationCapacity {
        if head.destination.is_empty() {
            return DestinationCapacity::Now(u32::MAX);
        }
        let source = Some(&*head.source).filter(|name| !name.is_empty());
        self.verifier(test).room(&head.destination, source)
    }

    fn verifier(&self, test: bool) -> &dyn Verifier {
        if test { &*self.jobs.sandbox } else { &*self.jobs.live }
    }

    async fn claim(&self, head: &ChunkGroup, now: Millis) -> Result<Option<ClaimedChunk>, StoreError> {
        let lease_ms = self.jobs.lease_ms();
        let claimed = self.jobs.store.write_bulk(|tx| jobs::claim_chunks(tx, head, now, lease_ms, 1).scope_boxed());
        Ok(claimed.await?.into_iter().next())
    }

    fn begin(&mut self, open: OpenJob, head: &ChunkGroup, claimed: ClaimedChunk, now: Millis) {
        let size = claimed.size;
        let left = Arc::new(AtomicUsize::new(usize::try_from(size).unwrap_or(usize::MAX)));
        let (jobs, ending, rows) = (self.jobs.clone(), self.ending.clone(), left.clone());
        let task = self.running.spawn(async move { work::run(&jobs, claimed, open.test, &ending, &rows).await });
        self.busy.began(task.id(), head, size, left, now);
    }
}
