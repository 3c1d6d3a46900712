//! What a node works on, whom it has served lately, and what it must not take up yet.
//!
//! The one place that decides whose chunk is next. A node has room for so many rows and chunks; a quarter of it is kept for jobs of
//! which nothing is worked on, and while others wait no job gets more than half, so that a small list is not stuck behind a large
//! one. Among jobs that may, the one comes first whose organization was served least within the last minute.
//!
//! Memory of one task, without a lock: the dispatcher tells it what began and ended, workers only count their rows down. What it
//! forgets
//! with the process does no harm, because leases in the database say whose a chunk is. What has no room rests for a while and
//! not until told otherwise: a word that never comes costs 30 seconds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::jobs::{Head, JobNo, Open};
use tokio::task::Id;

use crate::jobs::chunk::ROWS_MAX;

/// What counts as lately, in milliseconds.
const LATELY_MS: i64 = 60_000;
/// Chunks that are worked on at a time, for each slot: many are small.
const CHUNKS_PER_SLOT: usize = 4;
/// One part in so many is kept for jobs of which nothing is worked on.
const NEWCOMERS: usize = 4;
/// Without a word from the engine, a place without room is looked at again after this time at the latest, in milliseconds.
const LOOK_AGAIN_MS: i64 = 30_000;
/// How long a job rests of which nothing could be taken up, in milliseconds.
const JOB_RESTS_MS: i64 = 1_000;
/// Kinds of chunks that are remembered as having no room.
const SHUT_MAX: usize = 10_000;

/// How much a node may work on.
#[derive(Clone, Copy, Debug)]
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

    fn has_room(self, held: Held) -> bool {
        held.rows < self.rows && held.chunks < self.chunks
    }
}

/// What is worked on.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    rows: usize,
    chunks: usize,
}

/// One chunk at work.
struct Running {
    org: OrgNo,
    job: JobNo,
    /// Its rows without an outcome.
    left: Arc<AtomicUsize>,
}

/// What a node works on.
pub(super) struct Busy {
    capacity: Capacity,
    running: HashMap<Id, Running>,
    served: HashMap<OrgNo, (i64, Millis)>,
    /// Kinds of chunks ([`Head::key`]) whose place has no room, and until when that is believed.
    shut: HashMap<String, Millis>,
    resting: HashMap<JobNo, Millis>,
}

impl Busy {
    pub(super) fn new(capacity: Capacity) -> Self {
        let (running, served, shut, resting) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        Self { capacity, running, served, shut, resting }
    }

    /// Whether nothing more can be taken up, for whomever.
    pub(super) fn is_full(&self) -> bool {
        !self.capacity.has_room(self.held(|_| true))
    }

    /// The job of which the next chunk is taken.
    pub(super) fn choose(&self, open: &[Open], now: Millis) -> Option<Open> {
        let awake = |open: &&Open| self.resting.get(&open.job).is_none_or(|until| *until <= now);
        let jobs: HashSet<JobNo> = open.iter().filter(awake).map(|open| open.job).collect();
        let all = self.held(|_| true);
        let has_room = |open: &&Open| {
            let own = self.held(|running| running.job == open.job);
            let others_wait = jobs.len() > 1;
            self.capacity.has_room(all)
                && (own.chunks == 0
                    || self.capacity.part(NEWCOMERS - 1, NEWCOMERS).has_room(all)
                        && (!others_wait || self.capacity.part(1, 2).has_room(own)))
        };
        let least = |open: &&Open| (self.lately(open.org, now), open.created_at, open.job);
        open.iter().filter(awake).filter(has_room).min_by_key(least).copied()
    }

    fn held(&self, of: impl Fn(&Running) -> bool) -> Held {
        self.running.values().filter(|running| of(running)).fold(Held::default(), |held, running| Held {
            rows: held.rows + running.left.load(Ordering::Relaxed),
            chunks: held.chunks + 1,
        })
    }

    /// Addresses taken up for an organization lately.
    fn lately(&self, org: OrgNo, now: Millis) -> i64 {
        self.served.get(&org).map_or(0, |(rows, at)| faded(*rows, now.since(*at)))
    }

    /// A chunk of so many addresses is worked on.
    pub(super) fn began(&mut self, task: Id, head: &Head, size: i64, left: Arc<AtomicUsize>, now: Millis) {
        let rows = self.lately(head.org, now) + size;
        self.running.insert(task, Running { org: head.org, job: head.job, left });
        self.served.insert(head.org, (rows, now));
        let running = &self.running;
        let at_work = |org: &OrgNo| running.values().any(|running| running.org == *org);
        self.served.retain(|org, (rows, at)| at_work(org) || faded(*rows, now.since(*at)) > 0);
    }

    /// A chunk is worked on no longer.
    pub(super) fn ended(&mut self, task: Id) {
        self.running.remove(&task);
    }

    /// Chunks of this kind are not taken up before that time.
    pub(super) fn shut(&mut self, head: &Head, until: Millis, now: Millis) {
        if self.shut.len() < SHUT_MAX {
            self.shut.insert(head.key(), until.min(now + LOOK_AGAIN_MS));
        }
    }

    /// Nothing of this job could be taken up.
    pub(super) fn rest(&mut self, job: JobNo, now: Millis) {
        self.resting.insert(job, now + JOB_RESTS_MS);
    }

    /// Forgets what has passed.
    pub(super) fn forget(&mut self, now: Millis) {
        self.shut.retain(|_, until| *until > now);
        self.resting.retain(|_, until| *until > now);
    }

    /// The kinds of chunks that are not to be taken up.
    pub(super) fn without(&self) -> Vec<&str> {
        self.shut.keys().map(String::as_str).collect()
    }
}

/// What is left of a number of rows after a while: nothing after a minute.
fn faded(rows: i64, after_ms: i64) -> i64 {
    let left_ms = (LATELY_MS - after_ms).max(0);
    rows.saturating_mul(left_ms) / LATELY_MS
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    fn open(org: i64, job: i64, created_at: i64) -> Open {
        Open { org: OrgNo(org), job: JobNo(job), test: false, created_at: Millis(created_at) }
    }

    /// A node of eight slots, and tasks for it to be busy with.
    struct Node {
        busy: Busy,
        tasks: JoinSet<()>,
    }

    impl Node {
        fn new() -> Self {
            Self { busy: Busy::new(Capacity::of_slots(8)), tasks: JoinSet::new() }
        }

        /// Takes up a chunk of so many rows.
        fn begin(&mut self, open: Open, rows: usize) -> Id {
            let id = self.tasks.spawn(std::future::pending()).id();
            let head = Head { org: open.org, job: open.job, destination: String::new(), source: String::new() };
            self.busy.began(id, &head, i64::try_from(rows).unwrap(), Arc::new(AtomicUsize::new(rows)), Millis(100));
            id
        }

        fn choose(&self, open: &[Open]) -> Option<i64> {
            self.busy.choose(open, Millis(100)).map(|open| open.job.0)
        }
    }

    #[tokio::test]
    async fn a_small_job_is_not_stuck_behind_a_large_one() {
        let mut node = Node::new();
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
        let mut node = Node::new();
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
        let mut node = Node::new();
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
        let mut node = Node::new();
        let job = open(1, 1, 0);
        for _ in 0..6 {
            node.begin(job, 1_000);
        }
        assert_eq!(node.choose(&[job]), None);
        let nearly_done = node.busy.running.values().next().unwrap().left.clone();
        nearly_done.store(3, Ordering::Relaxed);
        assert_eq!(node.choose(&[job]), Some(1));
        let mut many = Node::new();
        while many.choose(&[job]).is_some() {
            many.begin(job, 1);
        }
        assert_eq!(many.busy.running.len(), 24, "chunks are bounded too");
    }

    #[tokio::test]
    async fn places_without_room_and_their_jobs_are_left_alone_for_a_while() {
        let mut node = Node::new();
        let (first, other) = (open(1, 1, 0), open(2, 2, 50));
        let head = Head { org: first.org, job: first.job, destination: "google".into(), source: String::new() };
        node.busy.shut(&head, Millis(i64::MAX), Millis(100));
        node.busy.rest(first.job, Millis(100));
        assert_eq!(node.choose(&[first, other]), Some(2));
        assert_eq!(node.busy.without(), ["google "]);
        node.busy.forget(Millis(100 + JOB_RESTS_MS));
        assert_eq!(node.choose(&[first, other]), Some(1));
        node.busy.forget(Millis(100 + LOOK_AGAIN_MS));
        assert!(node.busy.without().is_empty(), "it is looked at again");
    }

    #[test]
    fn what_was_served_fades_within_a_minute() {
        assert_eq!([0, 30_000, 60_000, 90_000].map(|after_ms| faded(1_000, after_ms)), [1_000, 500, 0, 0]);
    }
}
