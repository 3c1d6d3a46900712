//! Who is served next: chunks are taken up for the organization that was served least lately, and of it for its oldest job.
//!
//! A chunk is at most a thousand addresses, so a small job beside one of a million waits for a few seconds at most. One job
//! has at most half of the slots while others wait. Live calls do not pass through here; the engine keeps connections for
//! them.

use std::collections::HashMap;
use std::time::Duration;

use probity_core::time::Millis;
use probity_store::jobs::{self, Claimed, JobNo, Open};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Jobs, work};

/// Chunks that a node works on at a time.
const SLOTS: usize = 16;
/// Open jobs that are looked at when a chunk is chosen.
const LOOK_MAX: i64 = 1_000;
/// How long the dispatcher waits without a bell.
const POLL: Duration = Duration::from_millis(500);
/// How long it waits after a failure.
const REST: Duration = Duration::from_secs(2);
/// What counts as lately, in milliseconds.
const LATELY_MS: i64 = 60_000;

/// Takes chunks up and has them worked on, until it is told to end and all of them are let go.
pub(super) async fn run(jobs: Jobs, ending: CancellationToken) {
    let mut busy = Busy::default();
    let mut running: JoinSet<(OrgNo, JobNo)> = JoinSet::new();
    while !ending.is_cancelled() {
        let pause = match fill(&jobs, &mut busy, &mut running, &ending).await {
            Ok(()) => jobs.presence.poll(POLL),
            Err(error) => {
                tracing::warn!(%error, "no work could be taken up");
                REST
            }
        };
        tokio::select! {
            () = ending.cancelled() => {}
            () = jobs.wake.work.notified() => {}
            Some(ended) = running.join_next(), if !running.is_empty() => busy.ended(ended.ok()),
            () = tokio::time::sleep(pause) => {}
        }
        while let Some(ended) = running.try_join_next() {
            busy.ended(ended.ok());
        }
    }
    while running.join_next().await.is_some() {}
}

/// Fills the free slots.
async fn fill(
    jobs: &Jobs,
    busy: &mut Busy,
    running: &mut JoinSet<(OrgNo, JobNo)>,
    ending: &CancellationToken,
) -> Result<(), StoreError> {
    let now = jobs.now();
    if running.len() >= SLOTS || !jobs.presence.may_ask(now) {
        return Ok(());
    }
    let mut open = jobs::open(&mut jobs.store.read().await?, now, LOOK_MAX).await?;
    open.retain(|open| !open.org_status.is_stopped());
    while running.len() < SLOTS {
        let Some(chosen) = busy.choose(&open, now) else { break };
        let (org, job) = (chosen.org, chosen.job);
        let claimed =
            jobs.store.write(|tx| jobs::claim_chunks(tx, org, job, now, jobs.lease_ms(), 1).scope_boxed()).await?;
        let Some(claimed) = claimed.into_iter().next() else {
            // Others have taken the rest of it.
            open.retain(|open| open.job != job);
            continue;
        };
        busy.began(&claimed, now);
        let (jobs, ending, test) = (jobs.clone(), ending.clone(), chosen.test);
        running.spawn(async move {
            work::run(&jobs, claimed, test, &ending).await;
            (org, job)
        });
    }
    Ok(())
}

/// What this node works on, and whom it has served lately.
#[derive(Default)]
struct Busy {
    slots: HashMap<(OrgNo, JobNo), usize>,
    served: HashMap<OrgNo, (i64, Millis)>,
}

impl Busy {
    /// The job from which the next chunk is taken.
    fn choose(&self, open: &[Open], now: Millis) -> Option<Open> {
        let jobs = open.iter().map(|open| (open.org, open.job));
        let others_wait = jobs.collect::<std::collections::HashSet<_>>().len() > 1;
        let has_room = |open: &&Open| !others_wait || self.of_job(open) < SLOTS / 2;
        let least = |open: &&Open| (self.lately(open.org, now), open.created_at, open.job);
        open.iter().filter(has_room).min_by_key(least).copied()
    }

    fn of_job(&self, open: &Open) -> usize {
        self.slots.get(&(open.org, open.job)).copied().unwrap_or(0)
    }

    /// Addresses taken up for an organization lately.
    fn lately(&self, org: OrgNo, now: Millis) -> i64 {
        self.served.get(&org).map_or(0, |(rows, at)| faded(*rows, now.since(*at)))
    }

    fn began(&mut self, claimed: &Claimed, now: Millis) {
        *self.slots.entry((claimed.fence.org, claimed.fence.job)).or_default() += 1;
        let rows = self.lately(claimed.fence.org, now) + claimed.size;
        self.served.insert(claimed.fence.org, (rows, now));
        self.served.retain(|_, (rows, at)| faded(*rows, now.since(*at)) > 0);
    }

    /// A worker that panicked does not say whose chunk it had; then everything is counted as free, and too much is taken up
    /// for a moment.
    fn ended(&mut self, whose: Option<(OrgNo, JobNo)>) {
        let Some(whose) = whose else {
            self.slots.clear();
            return;
        };
        if let Some(slots) = self.slots.get_mut(&whose) {
            *slots = slots.saturating_sub(1);
            if *slots == 0 {
                self.slots.remove(&whose);
            }
        }
    }
}

/// What is left of a number of rows after a while: nothing after a minute.
fn faded(rows: i64, after_ms: i64) -> i64 {
    let left_ms = (LATELY_MS - after_ms).max(0);
    rows.saturating_mul(left_ms) / LATELY_MS
}

#[cfg(test)]
mod tests {
    use probity_store::jobs::Fence;
    use probity_store::orgs::OrgStatus;

    use super::*;

    fn open(org: i64, job: i64, created_at: i64) -> Open {
        let org_status = OrgStatus::Active;
        Open { org: OrgNo(org), org_status, job: JobNo(job), test: false, created_at: Millis(created_at) }
    }

    fn claimed(open: Open) -> Claimed {
        let fence = Fence { org: open.org, job: open.job, chunk: 0, epoch: 1 };
        Claimed { fence, size: 1_000, body: Vec::new() }
    }

    #[test]
    fn a_small_job_is_not_stuck_behind_a_large_one() {
        let mut busy = Busy::default();
        let (large, small) = (open(1, 1, 0), open(2, 2, 50));
        for _ in 0..4 {
            busy.began(&claimed(large), Millis(100));
        }
        assert_eq!(busy.choose(&[large, small], Millis(100)).unwrap().org, OrgNo(2));
        busy.began(&claimed(small), Millis(100));
        assert_eq!(busy.choose(&[large], Millis(100)).unwrap().org, OrgNo(1));
    }

    #[test]
    fn of_one_organization_the_oldest_job_comes_first_and_leaves_room() {
        let mut busy = Busy::default();
        let (old, young) = (open(1, 1, 0), open(1, 2, 50));
        assert_eq!(busy.choose(&[young, old], Millis(100)).unwrap().job, JobNo(1));
        for _ in 0..SLOTS / 2 {
            busy.began(&claimed(old), Millis(100));
        }
        assert_eq!(busy.choose(&[old, young], Millis(100)).unwrap().job, JobNo(2));
        assert_eq!(busy.choose(&[old], Millis(100)).unwrap().job, JobNo(1), "nobody else waits");
        busy.ended(Some((old.org, old.job)));
        assert_eq!(busy.choose(&[old, young], Millis(100)).unwrap().job, JobNo(1));
    }

    #[test]
    fn what_was_served_fades_within_a_minute() {
        let mut busy = Busy::default();
        busy.began(&claimed(open(1, 1, 0)), Millis(0));
        assert_eq!(busy.lately(OrgNo(1), Millis(30_000)), 500);
        assert_eq!(busy.lately(OrgNo(1), Millis(60_000)), 0);
    }
}
