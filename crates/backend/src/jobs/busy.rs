//! Work of a node: running chunks, the organizations served lately, and groups of chunks that have to wait.
//!
//! Only this module decides whose chunk is next. A node has capacity for a number of rows and chunks. A quarter is reserved for
//! jobs without a running chunk. While other jobs wait, no job gets more than half, so that a small list is not stuck behind a
//! large one. Of the eligible jobs, the one whose organization was served least within the last minute comes first.
//!
//! The dispatcher's task owns this state, so it has no lock; workers only count down their rows. Losing it with the process is
//! harmless, because leases are in the database. A group without room rests for a limited time: a missed notification costs at
//! most 30 s.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::jobs::{ChunkGroup, JobNo, OpenJob};
use tokio::task::Id;

use crate::jobs::chunk::ROWS_MAX;

/// Period that counts as lately, in milliseconds.
const LATELY_MS: i64 = 60_000;
/// Concurrent chunks per slot; many chunks are small.
const CHUNKS_PER_SLOT: usize = 4;
/// Share reserved for jobs without a running chunk: 1 part in 4.
const NEWCOMERS: usize = 4;
/// Maximum time until a destination without room is checked again, in milliseconds.
const LOOK_AGAIN_MS: i64 = 30_000;
/// Pause of a job of which nothing could be claimed, in milliseconds.
const JOB_RESTS_MS: i64 = 1_000;
/// Maximum number of groups of chunks remembered as having no room.
const SHUT_MAX: usize = 10_000;

/// Work that a node can do, or does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Capacity {
    rows: usize,
    chunks: usize,
}

impl Capacity {
    pub(super) fn of_slots(slots: usize) -> Self {
        let slots = slots.max(2);
        Self { rows: slots * ROWS_MAX, chunks: slots * CHUNKS_PER_SLOT }
    }

    fn part(self, of: usize, parts: usize) -> Self {
        Self { rows: self.rows / parts * of, chunks: self.chunks / parts * of }
    }

    fn has_room(self, held: Self) -> bool {
        held.rows < self.rows && held.chunks < self.chunks
    }
}

struct Running {
    org: OrgNo,
    job: JobNo,
    /// Rows without an outcome.
    left: Arc<AtomicUsize>,
}

/// Key of a group of chunks that waits, whichever job it is of.
#[derive(PartialEq, Eq, Hash)]
struct ShutKey {
    /// Whether the group is of test jobs: room in the sandbox and at MX hosts is independent, even under one name.
    test: bool,
    /// [`ChunkGroup::key`].
    group: String,
}

/// Work of a node, and waiting groups and jobs.
pub(super) struct BusyWork {
    capacity: Capacity,
    running: HashMap<Id, Running>,
    served: HashMap<OrgNo, (i64, Millis)>,
    /// Groups of chunks whose destination has no room, and the end of their pause.
    shut: HashMap<ShutKey, Millis>,
    resting: HashMap<JobNo, Millis>,
}

impl BusyWork {
    pub(crate) fn new(capacity: Capacity) -> Self {
        let (running, served, shut, resting) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        Self { capacity, running, served, shut, resting }
    }

    /// Whether no chunk can be claimed, of any job.
    pub(crate) fn is_full(&self) -> bool {
        !self.capacity.has_room(self.held(|_| true))
    }

    /// Chooses the job of which the next chunk is claimed.
    pub(crate) fn choose(&self, open: &[OpenJob], now: Millis) -> Option<OpenJob> {
        let awake = |open: &&OpenJob| self.resting.get(&open.job).is_none_or(|until| *until <= now);
        let jobs: HashSet<JobNo> = open.iter().filter(awake).map(|open| open.job).collect();
        let all = self.held(|_| true);
        let has_room = |open: &&OpenJob| {
            let own = self.held(|running| running.job == open.job);
            let others_wait = jobs.len() > 1;
            self.capacity.has_room(all)
                && (own.chunks == 0
                    || self.capacity.part(NEWCOMERS - 1, NEWCOMERS).has_room(all)
                        && (!others_wait || self.capacity.part(1, 2).has_room(own)))
        };
        let least = |open: &&OpenJob| (self.lately(open.org, now), open.created_at, open.job);
        open.iter().filter(awake).filter(has_room).min_by_key(least).copied()
    }

    fn held(&self, of: impl Fn(&Running) -> bool) -> Capacity {
        self.running.values().filter(|running| of(running)).fold(Capacity::default(), |held, running| Capacity {
            rows: held.rows + running.left.load(Ordering::Relaxed),
            chunks: held.chunks + 1,
        })
    }

    /// Returns the addresses claimed for an organization lately, weighted by age.
    fn lately(&self, org: OrgNo, now: Millis) -> i64 {
        self.served.get(&org).map_or(0, |(rows, at)| faded(*rows, now.since(*at)))
    }

    /// Records that a chunk of `size` addresses is in progress.
    pub(crate) fn began(&mut self, task: Id, head: &ChunkGroup, size: i64, left: Arc<AtomicUsize>, now: Millis) {
        let rows = self.lately(head.org, now) + size;
        self.running.insert(task, Running { org: head.org, job: head.job, left });
        self.served.insert(head.org, (rows, now));
        let running = &self.running;
        let at_work = |org: &OrgNo| running.values().any(|running| running.org == *org);
        self.served.retain(|org, (rows, at)| at_work(org) || faded(*rows, now.since(*at)) > 0);
    }

    /// Records that a chunk is no longer in progress.
    pub(crate) fn ended(&mut self, task: Id) {
        self.running.remove(&task);
    }

    /// Excludes a group of chunks of live or test jobs until a time, at most [`LOOK_AGAIN_MS`] from now.
    pub(super) fn shut(&mut self, head: &ChunkGroup, test: bool, until: Millis, now: Millis) {
        if self.shut.len() < SHUT_MAX {
            self.shut.insert(ShutKey { test, group: head.key() }, until.min(now + LOOK_AGAIN_MS));
        }
    }

    /// Pauses a job of which nothing could be claimed.
    pub(crate) fn rest(&mut self, job: JobNo, now: Millis) {
        self.resting.insert(job, now + JOB_RESTS_MS);
    }

    /// Removes expired pauses.
    pub(crate) fn forget(&mut self, now: Millis) {
        self.shut.retain(|_, until| *until > now);
        self.resting.retain(|_, until| *until > now);
    }

    /// Returns the groups of chunks to exclude from live or test jobs.
    pub(crate) fn without(&self, test: bool) -> Vec<&str> {
        self.shut.keys().filter(|key| key.test == test).map(|key| key.group.as_str()).collect()
    }
}

/// Weights a number of rows by age: the weight falls to 0 within a minute.
fn faded(rows: i64, after_ms: i64) -> i64 {
    let left_ms = (LATELY_MS - after_ms).max(0);
    rows.saturating_mul(left_ms) / LATELY_MS
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    fn open(org: i64, job: i64, created_at: i64) -> OpenJob {
        OpenJob { org: OrgNo(org), job: JobNo(job), test: false, hurried: false, created_at: Millis(created_at) }
    }

    /// Node with 8 slots, and tasks that keep it busy.
    struct BusyNode {
        busy: BusyWork,
        tasks: JoinSet<()>,
    }

    impl BusyNode {
        fn new() -> Self {
            Self { busy: BusyWork::new(Capacity::of_slots(8)), tasks: JoinSet::new() }
        }

        /// Starts a chunk of `rows` rows.
        fn begin(&mut self, open: OpenJob, rows: usize) -> Id {
            let id = self.tasks.spawn(std::future::pending()).id();
            let head = ChunkGroup { org: open.org, job: open.job, destination: String::new(), source: String::new() };
            self.busy.began(id, &head, i64::try_from(rows).unwrap(), Arc::new(AtomicUsize::new(rows)), Millis(100));
            id
        }

        fn choose(&self, open: &[OpenJob]) -> Option<i64> {
            self.busy.choose(open, Millis(100)).map(|open| open.job.0)
        }
    }

    #[tokio::test]
    async fn a_small_job_is_not_stuck_behind_a_large_one() {
        let mut node = BusyNode::new();
        let (large, small) = (open(1, 1, 0), open(2, 2, 50));
        for _ in 0..4 {
            node.begin(large, 1_000);
        }
        assert_eq!(node.choose(&[large, small]), Some(2));
        node.begin(small, 10);
        assert_eq!(node.choose(&[large]), Some(1));
    }

    #[tokio::test]
    async fn a_job_that_is_alone_leaves_a_part_to_whoever_comes() {
        let mut node = BusyNode::new();
        let (large, newcomer) = (open(1, 1, 0), open(1, 2, 50));
        let mut taken = 0;
        while node.choose(&[large]).is_some() {
            node.begin(large, 1_000);
            taken += 1;
        }
        assert_eq!(taken, 6, "of eight");
        assert_eq!(node.choose(&[large, newcomer]), Some(2), "of the same organization too");
        node.begin(newcomer, 10);
        assert_eq!(node.choose(&[large, newcomer]), None);
        assert!(!node.busy.is_full());
        let others: Vec<_> = (3..40).map(|job| open(job, job, 60)).collect();
        while let Some(job) = node.choose(&others) {
            node.begin(open(job, job, 60), 1_000);
        }
        assert!(node.busy.is_full());
    }

    #[tokio::test]
    async fn of_one_organization_the_oldest_job_comes_first_and_leaves_room() {
        let mut node = BusyNode::new();
        let (old, young) = (open(1, 1, 0), open(1, 2, 50));
        assert_eq!(node.choose(&[young, old]), Some(1));
        let first = node.begin(old, 1_000);
        for _ in 0..3 {
            node.begin(old, 1_000);
        }
        assert_eq!(node.choose(&[old, young]), Some(2));
        assert_eq!(node.choose(&[old]), Some(1), "nobody else waits");
        node.busy.ended(first);
        assert_eq!(node.choose(&[old, young]), Some(1));
    }

    #[tokio::test]
    async fn what_is_nearly_done_takes_little() {
        let mut node = BusyNode::new();
        let job = open(1, 1, 0);
        for _ in 0..6 {
            node.begin(job, 1_000);
        }
        assert_eq!(node.choose(&[job]), None);
        let nearly_done = node.busy.running.values().next().unwrap().left.clone();
        nearly_done.store(3, Ordering::Relaxed);
        assert_eq!(node.choose(&[job]), Some(1));
        let mut many = BusyNode::new();
        while many.choose(&[job]).is_some() {
            many.begin(job, 1);
        }
        assert_eq!(many.busy.running.len(), 24, "chunks are bounded too");
    }

    #[tokio::test]
    async fn places_without_room_and_their_jobs_are_left_alone_for_a_while() {
        let mut node = BusyNode::new();
        let (first, other) = (open(1, 1, 0), open(2, 2, 50));
        let head = ChunkGroup { org: first.org, job: first.job, destination: "google".into(), source: String::new() };
        node.busy.shut(&head, first.test, Millis(i64::MAX), Millis(100));
        node.busy.rest(first.job, Millis(100));
        assert_eq!(node.choose(&[first, other]), Some(2));
        assert_eq!(node.busy.without(false), ["google "]);
        node.busy.forget(Millis(100 + JOB_RESTS_MS));
        assert_eq!(node.choose(&[first, other]), Some(1));
        node.busy.forget(Millis(100 + LOOK_AGAIN_MS));
        assert!(node.busy.without(false).is_empty(), "it is looked at again");
    }

    #[tokio::test]
    async fn a_place_without_room_in_the_sandbox_has_room_in_the_world() {
        let mut node = BusyNode::new();
        let head =
            |place: &str| ChunkGroup { org: OrgNo(1), job: JobNo(1), destination: place.into(), source: String::new() };
        node.busy.shut(&head("@example.org"), true, Millis(i64::MAX), Millis(100));
        node.busy.shut(&head("google"), false, Millis(i64::MAX), Millis(100));
        assert_eq!((node.busy.without(true), node.busy.without(false)), (vec!["@example.org "], vec!["google "]));
    }

    #[test]
    fn what_was_served_fades_within_a_minute() {
        assert_eq!([0, 30_000, 60_000, 90_000].map(|after_ms| faded(1_000, after_ms)), [1_000, 500, 0, 0]);
    }
}
