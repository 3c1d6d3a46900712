//! Ends of jobs, and their later maintenance.

use std::collections::BTreeMap;

use probity_account::id::{DeliveryId, EventId};
use probity_store::ScopedFutureExt as _;
use probity_store::jobs::{self, ClosedJob, JobNo, JobState};

use super::super::acts::{LEASE_MS, among, announce, messages};
use super::super::ops::DAY_MS;
use super::{Job, World};

impl World {
    /// Closes a job in the model.
    pub(super) fn closed(&mut self, no: JobNo, state: JobState) -> ClosedJob {
        let job = self.jobs.iter_mut().find(|job| job.no == no).unwrap();
        let released = std::mem::take(&mut job.held);
        self.available += released;
        job.state = state;
        job.finished_at = Some(self.now);
        job.chunks.clear();
        ClosedJob { org: self.org, job: no, state, released }
    }

    pub(super) async fn stop(&mut self, job: u8, state: JobState) {
        let Some(place) = among(job, self.jobs.len()) else { return };
        let (org, now, message) = (self.org, self.now, DeliveryId::new(self.now, self.bytes()));
        let Job { id, no, state: stood, .. } = self.jobs[place];
        let stopped = self.store.write(|tx| {
            async {
                let closed = if state == JobState::Cancelled {
                    jobs::cancel(tx, org, id, false, now).await?
                } else {
                    jobs::force_stop(tx, org, no, now).await?.ok_or(stood)
                };
                announce(tx, closed.ok(), message, now).await?;
                Ok(closed)
            }
            .scope_boxed()
        });
        let stopped = stopped.await.unwrap();
        let expected = if stood.is_closed() { Err(stood) } else { Ok(self.closed(no, state)) };
        assert_eq!(stopped, expected);
    }

    /// Packs all closed jobs, by any holder.
    pub(super) async fn pack(&mut self) {
        let (store, now) = (self.store.clone(), self.now);
        loop {
            let claim = store.write(|tx| jobs::claim_packing(tx, now, LEASE_MS).scope_boxed()).await.unwrap();
            let Some(mut packing) = claim else { break };
            let place = self.jobs.iter().position(|job| job.no == packing.job && packing.org == self.org);
            while let Some(next) = jobs::pack(&store, packing, now + LEASE_MS).await.unwrap() {
                packing = next;
                if let Some(place) = place {
                    self.compare_rows(place).await;
                }
            }
            if let Some(place) = place {
                self.jobs[place].packed = true;
                self.compare_rows(place).await;
            }
        }
        assert!(self.jobs.iter().all(|job| job.packed == job.state.is_closed()), "{:?}", self.jobs);
    }

    pub(super) async fn purge(&mut self, days: i64) {
        let (store, now) = (self.store.clone(), self.now);
        let due = jobs::due(&mut store.read().await.unwrap(), now, days, 1_000).await.unwrap();
        store.write(|tx| jobs::mark_due(tx, &due, now, days).scope_boxed()).await.unwrap();
        while store.write(|tx| jobs::purge_rows(tx).scope_boxed()).await.unwrap() {}
        let mut purged = 0;
        for job in &mut self.jobs {
            let due = job.finished_at.is_some_and(|at| now.since(at) >= days * DAY_MS);
            if job.packed && due && !job.purged {
                job.purged = true;
                purged += 1;
            }
        }
        for place in 0..self.jobs.len() {
            self.compare_rows(place).await;
        }
        for _ in 0..purged {
            self.met("purged");
        }
    }

    /// Returns the occurrences of each event; each closed job has left one delivery.
    pub(in crate::model) async fn end(mut self) -> BTreeMap<String, u32> {
        let mut told = messages(&self.store, self.org, self.now).await;
        for place in 0..self.jobs.len() {
            self.compare_rows(place).await;
            let job = &self.jobs[place];
            let event = EventId::from_bits(job.id.bits());
            assert_eq!(told.remove(&event), Some(1), "messages of {job:?}");
            self.met(&format!("{:?}", self.jobs[place].state));
        }
        assert!(told.is_empty(), "{told:?}");
        self.seen
    }
}
