//! Who is served next: chunks are taken up for the organization that was served least lately, of it for its oldest job, and of
//! that for a place that has room.
//!
//! How much is worked on is counted in addresses without an outcome, so that a chunk of which three slow ones are left takes
//! hardly anything. One job has at most half while others wait, and a quarter is kept for jobs of which nothing is worked on:
//! a small job beside one of a million waits for a moment, whosever that is. A chunk of one destination is not taken up while
//! that has no room: the engine knows from memory ([`Verifier::room`](crate::verifier::Verifier::room)). Live calls do not
//! pass through here; the engine keeps connections for them.

pub mod busy;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use busy::{Busy, Capacity};
use probity_engine::Room;
use probity_mail::time::Millis;
use probity_store::jobs::{self, Claimed, Head, Open};
use probity_store::{ScopedFutureExt as _, StoreError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::jobs::{Jobs, work};

/// Open jobs that are looked at when a chunk is chosen.
const LOOK_MAX: i64 = 1_000;
/// Kinds of chunks of a job that are looked at together.
const HEADS: i64 = 64;
/// How often more of them are looked at, where all had no room.
const HEADS_AGAIN: usize = 8;
/// How long the dispatcher waits without a bell.
const POLL: Duration = Duration::from_millis(500);
/// How long it waits after a failure.
const REST: Duration = Duration::from_secs(2);
/// How long it takes until the engine knows of a chunk, at most, in milliseconds: the look-up of a name.
const ON_ITS_WAY_MS: i64 = 1_000;

/// Takes chunks up and has them worked on, until it is told to end and all of them are let go.
pub async fn run(jobs: Jobs, ending: CancellationToken) {
    let mut node = Node {
        busy: Busy::new(Capacity::of_slots(jobs.config.slots)),
        running: JoinSet::new(),
        sources: jobs.live.source_names().into_iter().chain(jobs.sandbox.source_names()).collect(),
        jobs,
        ending,
    };
    while !node.ending.is_cancelled() {
        let pause = match node.fill().await {
            Ok(()) => node.jobs.presence.poll(POLL),
            Err(error) => {
                tracing::warn!(%error, "cannot claim work; retrying");
                REST
            }
        };
        node.wait(pause).await;
    }
    while node.running.join_next().await.is_some() {}
}

/// A node at work.
struct Node {
    jobs: Jobs,
    ending: CancellationToken,
    busy: Busy,
    running: JoinSet<()>,
    /// The names of the sources that ask from here.
    sources: Vec<Arc<str>>,
}

impl Node {
    /// Waits for a bell, the end of a chunk, or a while.
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

    /// Takes up as much as there is room for.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let now = self.jobs.now();
        self.busy.forget(now);
        if self.busy.is_full() || !self.jobs.presence.may_ask(now) {
            return Ok(());
        }
        let mut open = jobs::open(&mut self.jobs.store.read().await?, now, LOOK_MAX).await?;
        while let Some(chosen) = self.busy.choose(&open, now) {
            let taken = match self.take(&chosen, now).await {
                Err(error @ StoreError::Unavailable { .. }) => return Err(error),
                // What is wrong with one job is in no other's way.
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

    /// Takes a chunk of a job up for a place that has room; none where there is none.
    async fn take(&mut self, open: &Open, now: Millis) -> Result<Option<(Head, Claimed)>, StoreError> {
        for _ in 0..HEADS_AGAIN {
            let (of, without) = ((open.org, open.job), self.busy.without());
            let mut conn = self.jobs.store.read().await?;
            let heads = jobs::heads(&mut conn, of, &self.sources, &without, now, HEADS).await?;
            drop(conn);
            let mut is_any_shut = false;
            for head in heads {
                let rows = match self.room(&head, open.test) {
                    Room::Now(rows) => rows,
                    Room::At(until) => {
                        self.busy.shut(&head, until, now);
                        is_any_shut = true;
                        continue;
                    }
                };
                // Others may have taken the rest of it.
                if let Some(claimed) = self.claim(&head, now).await? {
                    if i64::from(rows) <= claimed.size {
                        self.busy.shut(&head, now + ON_ITS_WAY_MS, now);
                    }
                    return Ok(Some((head, claimed)));
                }
            }
            // Behind those without room may be others.
            if !is_any_shut {
                break;
            }
        }
        Ok(None)
    }

    fn room(&self, head: &Head, test: bool) -> Room {
        if head.destination.is_empty() {
            return Room::Now(u32::MAX);
        }
        let verifier = if test { &self.jobs.sandbox } else { &self.jobs.live };
        let source = Some(&*head.source).filter(|name| !name.is_empty());
        verifier.room(&head.destination, source)
    }

    async fn claim(&self, head: &Head, now: Millis) -> Result<Option<Claimed>, StoreError> {
        let lease_ms = self.jobs.lease_ms();
        let claimed = self.jobs.store.write_bulk(|tx| jobs::claim_chunks(tx, head, now, lease_ms, 1).scope_boxed());
        Ok(claimed.await?.into_iter().next())
    }

    fn begin(&mut self, open: Open, head: &Head, claimed: Claimed, now: Millis) {
        let size = claimed.size;
        let left = Arc::new(AtomicUsize::new(usize::try_from(size).unwrap_or(usize::MAX)));
        let (jobs, ending, rows) = (self.jobs.clone(), self.ending.clone(), left.clone());
        let task = self.running.spawn(async move { work::run(&jobs, claimed, open.test, &ending, &rows).await });
        self.busy.began(task.id(), head, size, left, now);
    }
}
