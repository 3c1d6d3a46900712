//! Submissions and imports.

use std::collections::BTreeMap;

use probity_account::id::JobId;
use probity_store::ScopedFutureExt as _;
use probity_store::StoreError;
use probity_store::jobs::{self, ImportClaim, JobCounts, JobNo, JobState, NewChunk, NewJob};

use super::super::acts::{LEASE_MS, Row, URL, among, holds_or_lost, packed};
use super::{Job, World};

/// Number of addresses in a chunk.
const CHUNK: usize = 3;

impl World {
    pub(super) async fn submit(&mut self, rows: i64, distinct: i64) {
        let new = self.begin().await;
        let now = self.now;
        let accepted = self.store.write(|tx| jobs::accept(tx, &new, rows, Some(URL), now).scope_boxed()).await;
        if self.available < rows {
            let (asked, there) = (rows, self.available);
            assert!(
                matches!(accepted, Err(StoreError::InsufficientCredits { needed, available }) if (needed, available) == (asked, there)),
                "{accepted:?}"
            );
            self.unborn.push(now);
            return;
        }
        accepted.unwrap();
        self.available -= rows;
        self.jobs.push(Job {
            id: new.id,
            no: JobNo::of_id(new.id),
            created_at: now,
            rows,
            distinct,
            state: JobState::Queued,
            counts: JobCounts::default(),
            charged: 0,
            held: rows,
            settled: BTreeMap::new(),
            chunks: BTreeMap::new(),
            next_chunk: 0,
            epoch: 0,
            leased_until: None,
            sorted: false,
            finished_at: None,
            packed: false,
            purged: false,
        });
    }

    pub(super) async fn begin(&mut self) -> NewJob {
        let id = JobId::new(self.now, self.bytes());
        let (org, by) = (self.org, "api");
        let new =
            NewJob { org, id, test: false, source: by, started_by: by, source_action: by, actor: None, at: self.now };
        let begun = self.store.write(|tx| {
            async {
                let no = jobs::begin(tx, &new).await?;
                jobs::add_block(tx, org, no, 0, b"addresses").await
            }
            .scope_boxed()
        });
        begun.await.unwrap();
        new
    }

    pub(super) async fn claim_import(&mut self) {
        let now = self.now;
        let claimed = self.store.write(|tx| jobs::claim_import(tx, now, LEASE_MS).scope_boxed()).await.unwrap();
        let waits = |job: &Job| match job.state {
            JobState::Queued => true,
            JobState::Importing => job.leased_until.is_some_and(|until| until <= now),
            _ => false,
        };
        let all = 0..self.jobs.len();
        let first = all.filter(|place| waits(&self.jobs[*place])).min_by_key(|place| {
            let job = &self.jobs[*place];
            (job.created_at, job.no)
        });
        let expected = first.map(|place| {
            let job = &mut self.jobs[place];
            job.epoch += 1;
            job.state = JobState::Importing;
            job.leased_until = Some(now + LEASE_MS);
            let claim = ImportClaim { org: self.org, job: job.no, epoch: job.epoch, rows: job.rows };
            self.imports.push((place, claim.clone()));
            claim
        });
        assert_eq!(claimed, expected);
    }

    pub(super) async fn import(&mut self, claim: u8, finish: bool) {
        let Some(place) = among(claim, self.imports.len()) else { return };
        let (store, now) = (self.store.clone(), self.now);
        let (job, claim) = self.imports[place].clone();
        let job = &mut self.jobs[job];
        let holds = job.state == JobState::Importing && job.epoch == claim.epoch;
        let distinct = usize::try_from(job.distinct).unwrap();
        let duplicates: Vec<(i64, i64)> = (job.distinct..job.rows).map(|idx| (idx, idx % job.distinct)).collect();
        let copies = |first: i64| (0..job.rows).filter(|idx| idx % job.distinct == first).count();
        let rows: Vec<Row> = (0..job.distinct).map(|idx| (idx, i64::try_from(copies(idx)).unwrap())).collect();
        assert_eq!(rows.len(), distinct);
        let chunks: Vec<NewChunk> = rows.chunks(CHUNK).map(|rows| packed(rows, now)).collect();
        let restart = || store.write(|tx| jobs::restart_import(tx, &claim, now, LEASE_MS).scope_boxed());
        let mut restarted = restart().await;
        while matches!(restarted, Ok(true)) {
            restarted = restart().await;
        }
        let adding = store.write(|tx| jobs::add_chunks(tx, &claim, &chunks, &duplicates, now, LEASE_MS).scope_boxed());
        let added = if restarted.is_ok() { adding.await } else { restarted.map(drop) };
        holds_or_lost(&added, holds);
        if !holds {
            self.imports.remove(place);
            self.met("lost import");
            return;
        }
        job.chunks.clear();
        job.sorted = true;
        for rows in rows.chunks(CHUNK) {
            job.add_chunk(rows.to_vec(), now);
        }
        job.leased_until = Some(now + LEASE_MS);
        if finish {
            let repeated = job.rows - job.distinct;
            store.write(|tx| jobs::imported(tx, &claim, repeated, now).scope_boxed()).await.unwrap();
            job.state = JobState::Ready;
            job.held -= repeated;
            self.available += repeated;
        }
    }
}
