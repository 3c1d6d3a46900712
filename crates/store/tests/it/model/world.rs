//! Model beside the store: each step is applied to both, and their results must agree.

mod calls;
mod ending;
mod importing;
mod working;

use std::collections::BTreeMap;

use probity_account::credits::Split;
use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::credits;
use probity_store::jobs::{self, ChunkFence, ImportClaim, JobCounts, JobNo, JobState};
use probity_store::{OrgNo, Store};

use super::acts::{LEASE_MS, Row, among};
use super::ops::{DAY_MS, Fate, Op, Rest};
use crate::organizations;

const BEGINNING: Millis = Millis(1_800_000_000_000);
/// Few enough that some submissions cannot be paid.
const CREDITS: i64 = 25;
/// Days between the starts of two stories: more than a story takes.
const APART_DAYS: i64 = 1_000;

#[derive(Debug)]
struct Chunk {
    rows: Vec<Row>,
    ready_at: Millis,
    epoch: i64,
    leased_until: Option<Millis>,
}

#[derive(Debug)]
struct Job {
    id: JobId,
    no: JobNo,
    created_at: Millis,
    rows: i64,
    distinct: i64,
    state: JobState,
    counts: JobCounts,
    charged: i64,
    held: i64,
    /// Results of distinct addresses: the first one counts.
    settled: BTreeMap<i64, Reason>,
    chunks: BTreeMap<i64, Chunk>,
    next_chunk: i64,
    epoch: i64,
    leased_until: Option<Millis>,
    /// Whether repeated rows are known: since the import's first part.
    sorted: bool,
    finished_at: Option<Millis>,
    packed: bool,
    purged: bool,
}

/// A worker that holds a chunk, or assumes so.
#[derive(Debug)]
struct Holder {
    job: usize,
    fence: ChunkFence,
    left: Vec<Row>,
    parts: u32,
}

pub(super) struct World {
    store: Store,
    org: OrgNo,
    now: Millis,
    made: u16,
    available: i64,
    /// Credits spent by live calls.
    called: i64,
    jobs: Vec<Job>,
    unborn: Vec<Millis>,
    imports: Vec<(usize, ImportClaim)>,
    holders: Vec<Holder>,
    /// Number of occurrences of each event.
    seen: BTreeMap<String, u32>,
}

impl World {
    /// Creates a separate world in this database: a new organization, later than all others.
    pub(super) async fn new(store: &Store, n: i64) -> Self {
        let now = BEGINNING + n * APART_DAYS * DAY_MS;
        let org = organizations::nth(9, now);
        organizations::add_with(store, &org, CREDITS).await.unwrap();
        Self {
            store: store.clone(),
            org: org.no,
            now,
            made: 0,
            available: CREDITS,
            called: 0,
            jobs: Vec::new(),
            unborn: Vec::new(),
            imports: Vec::new(),
            holders: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    /// Applies a step and compares.
    pub(super) async fn play(&mut self, op: Op) {
        match op {
            Op::Submit { rows, distinct } => self.submit(rows, distinct).await,
            Op::BreakOff => {
                self.begin().await;
                self.unborn.push(self.now);
            }
            Op::ClaimImport => self.claim_import().await,
            Op::Import { claim, finish } => self.import(claim, finish).await,
            Op::Claim { job, at_most } => self.claim(job, at_most).await,
            Op::Extend { holder } => self.extend(holder).await,
            Op::Settle { holder, keep, salt, then, fate } => self.settle(holder, keep, salt, then, fate).await,
            Op::Free { holder } => self.free(holder).await,
            Op::Die { holder } => {
                among(holder, self.holders.len()).map(|place| self.holders.remove(place));
            }
            Op::Cancel { job } => self.stop(job, JobState::Cancelled).await,
            Op::ForceStop { job } => self.stop(job, JobState::ForceStopped).await,
            Op::Call => self.call().await,
            Op::Wait { ms } => self.now = self.now + ms,
            Op::Sweep => self.sweep().await,
            Op::Pack => self.pack().await,
            Op::Purge { days } => self.purge(days).await,
        }
        self.compare().await;
    }

    /// Completes all remaining work with correct workers.
    pub(super) async fn finish(&mut self) {
        // Events counted are those of the earlier steps, and the ends of jobs.
        let seen = self.seen.clone();
        let everything = u8::MAX;
        for _ in 0..2 * self.jobs.len() + 4 {
            self.play(Op::Wait { ms: LEASE_MS }).await;
            self.play(Op::ClaimImport).await;
            self.play(Op::Import { claim: 0, finish: true }).await;
            self.holders.clear();
            for job in 0..self.jobs.len() {
                self.claim_of(job, CREDITS).await;
            }
            while !self.holders.is_empty() {
                let settle =
                    Op::Settle { holder: 0, keep: everything.into(), salt: 0, then: Rest::IsPutOff, fate: Fate::Told };
                self.play(settle).await;
            }
        }
        assert!(self.jobs.iter().all(|job| job.state.is_closed()), "{:?}", self.jobs);
        self.play(Op::Wait { ms: DAY_MS }).await;
        self.play(Op::Sweep).await;
        self.play(Op::Pack).await;
        self.seen = seen;
    }

    async fn compare(&self) {
        let mut conn = self.store.read().await.unwrap();
        for job in &self.jobs {
            let read = jobs::by_no(&mut conn, self.org, job.no).await.unwrap();
            let [model, store] = [(job.state, job.counts, job.charged), (read.state, read.counts, read.charged)];
            assert_eq!(store, model, "{job:?}");
            assert_eq!((read.finished_at, read.purged_at.is_some()), (job.finished_at, job.purged), "{job:?}");
        }
        let held = self.jobs.iter().map(|job| job.held).sum::<i64>();
        let spent = self.jobs.iter().map(|job| job.charged).sum::<i64>() + self.called;
        let balance = credits::balance(&mut conn, self.org).await.unwrap();
        let balance = [balance.available, balance.held, balance.spent].map(Split::total);
        assert_eq!(balance, [self.available, held, spent], "available, held, spent");
    }

    /// A job's rows contain the first settled results, in either storage form.
    async fn compare_rows(&self, job: usize) {
        let job = &self.jobs[job];
        let mut conn = self.store.read().await.unwrap();
        let read = jobs::outcomes(&mut conn, self.org, job.no, 0, job.rows).await.unwrap();
        let mut read: Vec<_> = read.iter().map(|(idx, at)| (*idx, at.result.idx, at.result.kind.reason)).collect();
        read.sort_unstable_by_key(|(idx, ..)| *idx);
        let first = |idx: i64| if job.sorted { idx % job.distinct } else { idx };
        let row = |idx: i64| job.settled.get(&first(idx)).map(|reason| (idx, first(idx), *reason));
        let expected: Vec<_> = (0..job.rows).filter(|_| !job.purged).filter_map(row).collect();
        assert_eq!(read, expected, "{job:?}");
    }

    /// Returns bytes that no other ID has.
    fn bytes(&mut self) -> [u8; 10] {
        self.made += 1;
        let [high, low] = self.made.to_be_bytes();
        [0, 0, 0, 0, 0, 0, 0, 0, high, low]
    }

    fn met(&mut self, what: &str) {
        *self.seen.entry(what.to_owned()).or_default() += 1;
    }
}

impl Job {
    fn add_chunk(&mut self, rows: Vec<Row>, ready_at: Millis) {
        self.chunks.insert(self.next_chunk, Chunk { rows, ready_at, epoch: 0, leased_until: None });
        self.next_chunk += 1;
    }
}
