//! Workers: chunks are claimed, held, settled and released.

use std::collections::btree_map::Entry;

use probity_account::id::DeliveryId;
use probity_mail::time::Millis;
use probity_store::jobs::{
    self, ChunkFence, ChunkGroup, ChunkRelease, ClaimedChunk, ClosedJob, JobState, NewChunk, SettledPart,
};
use probity_store::{Result, ScopedFutureExt as _};

use super::super::acts::{LEASE_MS, Row, among, announce, broken, holds_or_lost, packed, result};
use super::super::ops::{Fate, Rest};
use super::{Chunk, Holder, World};

/// Result of a settlement: a job's end or nothing; an error if the lease is lost.
type Settling = std::result::Result<Option<ClosedJob>, ()>;

impl World {
    pub(super) async fn claim(&mut self, job: u8, at_most: i64) {
        // Mostly a job with work.
        let open = |place: &usize| job == u8::MAX || !self.jobs[*place].state.is_closed();
        let open: Vec<usize> = (0..self.jobs.len()).filter(open).collect();
        if let Some(place) = among(job, open.len()) {
            self.claim_of(open[place], at_most).await;
        }
    }

    pub(super) async fn claim_of(&mut self, place: usize, at_most: i64) {
        let (now, org) = (self.now, self.org);
        let job = &mut self.jobs[place];
        let no = job.no;
        let head = ChunkGroup { org, job: no, destination: String::new(), source: String::new() };
        let head = &head;
        let claim = self.store.write(|tx| jobs::claim_chunks(tx, head, now, LEASE_MS, at_most).scope_boxed());
        let claimed = claim.await.unwrap();
        let mut free: Vec<(Millis, i64)> = Vec::new();
        if matches!(job.state, JobState::Ready | JobState::Processing) {
            let is_free = |chunk: &Chunk| chunk.ready_at <= now && chunk.leased_until.is_none_or(|until| until <= now);
            free.extend(job.chunks.iter().filter(|(_, chunk)| is_free(chunk)).map(|(no, chunk)| (chunk.ready_at, *no)));
        }
        free.sort_unstable();
        free.truncate(usize::try_from(at_most).unwrap());
        let mut expected = Vec::new();
        for (_, number) in free {
            let chunk = job.chunks.get_mut(&number).unwrap();
            chunk.epoch += 1;
            chunk.leased_until = Some(now + LEASE_MS);
            job.state = JobState::Processing;
            let fence = ChunkFence { org, job: no, chunk: number, epoch: chunk.epoch };
            expected.push((fence, chunk.rows.clone()));
            self.holders.push(Holder { job: place, fence, left: chunk.rows.clone(), parts: 0 });
        }
        let rows = |one: &ClaimedChunk| serde_json::from_slice(one.left_rows.as_ref().unwrap_or(&one.body)).unwrap();
        let claimed: Vec<(ChunkFence, Vec<Row>)> = claimed.iter().map(|one| (one.fence, rows(one))).collect();
        assert_eq!(claimed, expected);
    }

    /// Returns the chunk of a holder, if it is still held.
    fn held(&mut self, holder: usize) -> Option<&mut Chunk> {
        let Holder { job, fence, .. } = &self.holders[holder];
        self.jobs[*job].chunks.get_mut(&fence.chunk).filter(|chunk| chunk.epoch == fence.epoch)
    }

    pub(super) async fn extend(&mut self, holder: u8) {
        let Some(holder) = among(holder, self.holders.len()) else { return };
        let (fences, until) = ([self.holders[holder].fence], self.now + LEASE_MS);
        let extended = self.store.write(|tx| jobs::extend(tx, &fences, until).scope_boxed()).await;
        let held = self.held(holder).map(|chunk| chunk.leased_until = Some(until));
        holds_or_lost(&extended, held.is_some());
    }

    pub(super) async fn free(&mut self, holder: u8) {
        let Some(place) = among(holder, self.holders.len()) else { return };
        let fence = self.holders[place].fence;
        self.store.write(|tx| jobs::free(tx, &fence).scope_boxed()).await.unwrap();
        if let Some(chunk) = self.held(place) {
            chunk.leased_until = None;
        }
        self.holders.remove(place);
    }

    pub(super) async fn settle(&mut self, holder: u8, keep: usize, salt: u8, then: Rest, fate: Fate) {
        let Some(place) = among(holder, self.holders.len()) else { return };
        let Holder { job, fence, left, parts } = &mut self.holders[place];
        let (job, fence) = (*job, *fence);
        let kept = left.drain(..keep.min(left.len())).collect::<Vec<_>>();
        let rest = if then == Rest::IsWorkedOn { Vec::new() } else { std::mem::take(left) };
        // A holder that defers rows knows that they have no results; one that settles results may not.
        let rest: Vec<Row> = rest.into_iter().filter(|(idx, _)| !self.jobs[job].settled.contains_key(idx)).collect();
        let (later, held) = match then {
            Rest::IsWorkedOn => (Vec::new(), Vec::new()),
            Rest::IsPutOff => (rest, Vec::new()),
            Rest::Stays => (Vec::new(), rest),
            Rest::IsParted => {
                let (first, others) = rest.split_at(rest.len().min(1));
                (first.to_vec(), others.to_vec())
            }
        };
        let since = self.now;
        let waiting = |rows: Vec<Row>| (!rows.is_empty()).then(|| packed(&rows, since + 5_000));
        let put_off: Vec<NewChunk> = waiting(later).into_iter().collect();
        let stay = waiting(held).map(|NewChunk { ready_at, size, body, .. }| ChunkRelease {
            ready_at,
            size,
            left_rows: body,
            since,
        });
        let done = then != Rest::IsWorkedOn && stay.is_none();
        let results = kept.iter().map(|row| result(*row, salt)).collect();
        let settled = SettledPart { results, put_off, done, part: *parts, stay, ..SettledPart::default() };
        *parts += 1;
        if fate == Fate::Lost {
            let lost = self.write_part(fence, &settled, true).await;
            assert!(lost.is_err(), "{lost:?}");
            self.holders.remove(place);
            return;
        }
        for _ in 0..=usize::from(fate == Fate::Untold) {
            let written = self.write_part(fence, &settled, false).await;
            let expected = self.settled(job, fence, &settled);
            holds_or_lost(&written, expected.is_ok());
            self.met(if expected.is_ok() { "part" } else { "lost part" });
            if expected.is_ok() && settled.stay.is_some() {
                self.met(if settled.put_off.is_empty() { "stay" } else { "stay beside what is put off" });
            }
            assert_eq!(written.map_err(drop), expected);
        }
        self.compare_rows(job).await;
        if then != Rest::IsWorkedOn {
            self.holders.remove(place);
        }
    }

    /// Writes a part as the service does: with the delivery of the job's end, if it is the last.
    async fn write_part(&mut self, fence: ChunkFence, part: &SettledPart, lose: bool) -> Result<Option<ClosedJob>> {
        let (now, message) = (self.now, DeliveryId::new(self.now, self.bytes()));
        let written = self.store.write(|tx| {
            async {
                let closed = jobs::settle(tx, &fence, part, now).await?;
                announce(tx, closed, message, now).await?;
                if lose { Err(broken()) } else { Ok(closed) }
            }
            .scope_boxed()
        });
        written.await
    }

    /// Settles a part in the model; an error if the lease is lost.
    fn settled(&mut self, job: usize, fence: ChunkFence, settled: &SettledPart) -> Settling {
        let rows = |body: &[u8]| serde_json::from_slice::<Vec<Row>>(body).unwrap();
        let job = &mut self.jobs[job];
        let held = job.chunks.get(&fence.chunk).is_some_and(|chunk| chunk.epoch == fence.epoch);
        if job.state != JobState::Processing || !held {
            return Err(());
        }
        for row in &settled.results {
            if let Entry::Vacant(free) = job.settled.entry(row.idx) {
                free.insert(row.kind.reason);
                job.counts.add(row.kind.reason, row.copies);
                job.held -= 1;
                job.charged += i64::from(row.kind.charged);
                self.available += i64::from(!row.kind.charged);
            }
        }
        if let Some(later) = settled.put_off.first() {
            job.add_chunk(rows(&later.body), later.ready_at);
        }
        if let (Some(stay), Some(chunk)) = (&settled.stay, job.chunks.get_mut(&fence.chunk)) {
            (chunk.rows, chunk.ready_at, chunk.leased_until) = (rows(&stay.left_rows), stay.ready_at, None);
            chunk.epoch += 1;
        }
        if settled.done {
            job.chunks.remove(&fence.chunk);
            if job.chunks.is_empty() {
                assert_eq!((job.held, job.counts.processed), (0, job.rows), "the model itself");
                return Ok(Some(self.closed(fence.job, JobState::Completed)));
            }
        }
        Ok(None)
    }
}
