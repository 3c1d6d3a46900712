//! Three jobs of one organization: one completes, one is canceled halfway, one is stopped before it is claimed.
//!
//! After a database failure, actors do what the service does: a client repeats its request under the same key, a worker repeats
//! its write or lets its lease expire, and all others start over in their next round.

mod client;

use std::collections::BTreeMap;

use probity_account::credits::Split;
use probity_account::id::{DeliveryId, EventId, JobId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::credits;
use probity_store::jobs::{
    self, ChunkFence, ChunkRelease, ClaimedChunk, ClosedJob, Job, JobNo, JobState, NewChunk, OutcomeKind, RowResult,
    SettledPart,
};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery, SenderCapacity};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError, Tx};

use crate::organizations;

const BEGINNING: Millis = Millis(1_800_000_000_000);
/// Duration of every lease.
const LEASE_MS: i64 = 60_000;
/// Maximum number of attempts before the test fails.
const ROUNDS: usize = 60;
/// Initial credits.
const CREDITS: i64 = 100;
const URL: &str = "https://hooks.example.com/x";

/// Row of a chunk: its index, the number of rows with its address, and the number of deferrals.
type Row = (i64, i64, i64);

pub(super) struct Story {
    store: Store,
    org: OrgNo,
    now: Millis,
    /// Counter that makes all IDs and run names unique.
    made: u8,
    /// Number of deliveries per event.
    told: BTreeMap<EventId, u32>,
    /// The second job, until it is canceled.
    to_cancel: Option<JobId>,
    /// Jobs acknowledged to the client.
    jobs: Vec<JobId>,
}

impl Story {
    /// Creates the `n`th story in this database, with its organization and credits.
    pub(super) async fn new(store: &Store, n: i64) -> Self {
        let now = BEGINNING + n * 1_000 * LEASE_MS;
        let org = organizations::nth(9, now);
        organizations::add_with(store, &org, CREDITS).await.unwrap();
        let (org, told) = (org.no, BTreeMap::new());
        Self { store: store.clone(), org, now, made: 0, told, to_cancel: None, jobs: Vec::new() }
    }

    /// Runs the story to its end.
    pub(super) async fn play(&mut self) {
        for (key, rows) in [(1, 6), (2, 5), (3, 2)] {
            let id = self.submit(key, rows).await;
            self.jobs.push(id);
        }
        self.to_cancel = Some(self.jobs[1]);
        self.stop(self.jobs[2]).await;
        for _ in 0..ROUNDS {
            // Separate tasks: a failure in one does not affect the others, and it runs again.
            let done = [self.import().await, self.work().await, self.deliver().await, self.pack().await];
            match self.is_over().await {
                Ok(true) => return,
                // Leases of a failed holder end after this time.
                _ => self.now = self.now + if done.iter().all(Result::is_ok) { 1_000 } else { LEASE_MS },
            }
        }
        panic!("the story has no end: {:?}", self.read_all().await);
    }

    /// Returns unique bytes.
    fn next(&mut self) -> [u8; 10] {
        self.made += 1;
        [self.made; 10]
    }

    /// Stops a job by the system, with retries.
    async fn stop(&mut self, id: JobId) {
        let (org, no, message) = (self.org, JobNo::of_id(id), DeliveryId::new(self.now, self.next()));
        for _ in 0..ROUNDS {
            let now = self.now;
            let stopped = self.store.write(|tx| {
                async {
                    let closed = jobs::force_stop(tx, org, no, now).await?;
                    announce(tx, closed.as_ref(), message, now).await
                }
                .scope_boxed()
            });
            if stopped.await.is_ok() {
                return;
            }
            self.now = self.now + 1_000;
        }
        panic!("it cannot be stopped");
    }

    /// Imports the oldest job: two chunks of distinct addresses, and rows that repeat the first.
    async fn import(&mut self) -> Result<()> {
        let (store, now) = (&self.store, self.now);
        if !jobs::any_import(&mut store.read().await?, now).await? {
            return Ok(());
        }
        let claim = store.write(|tx| jobs::claim_import(tx, now, LEASE_MS).scope_boxed()).await?;
        let Some(claim) = claim else { return Ok(()) };
        while store.write(|tx| jobs::restart_import(tx, &claim, now, LEASE_MS).scope_boxed()).await? {}
        let duplicates: Vec<(i64, i64)> = (4..claim.rows).map(|idx| (idx, 0)).collect();
        let repeated = claim.rows - 4;
        let add = store.write(|tx| jobs::add_chunks(tx, &claim, &[], &duplicates, now, LEASE_MS).scope_boxed());
        add.await?;
        let chunks = [chunk(&[(0, 1 + repeated, 0), (1, 1, 0)], now), chunk(&[(2, 1, 0), (3, 1, 0)], now)];
        store.write(|tx| jobs::add_chunks(tx, &claim, &chunks, &[], now, LEASE_MS).scope_boxed()).await?;
        store.write(|tx| jobs::imported(tx, &claim, repeated, now).scope_boxed()).await
    }

    /// Claims two chunks at a time; works on the first, and releases the other.
    async fn work(&mut self) -> Result<()> {
        let (store, org, now) = (self.store.clone(), self.org, self.now);
        for open in jobs::open(&mut store.read().await?, now, 10).await? {
            let heads = jobs::heads(&mut store.read().await?, (org, open.job), &[], &[], now, 1).await?;
            let Some(head) = heads.first() else { continue };
            let claim = store.write(|tx| jobs::claim_chunks(tx, head, now, LEASE_MS, 2).scope_boxed());
            let claimed = claim.await?;
            let Some((first, rest)) = claimed.split_first() else { continue };
            for other in rest {
                store.write(|tx| jobs::free(tx, &other.fence).scope_boxed()).await?;
            }
            match self.work_on(first).await {
                Ok(()) | Err(StoreError::LeaseLost) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Settles a chunk in two parts. The second and the third address of a job are deferred at first. The fourth is throttled and
    /// stays in its chunk, from which the third is deferred in the same part. The second job is canceled in between.
    async fn work_on(&mut self, claimed: &ClaimedChunk) -> Result<()> {
        let ChunkFence { job, epoch, .. } = claimed.fence;
        let mut rows: Vec<Row> = serde_json::from_slice(&claimed.body).unwrap();
        if claimed.left_rows.is_some() {
            rows.retain(|row| row.0 == 3);
        }
        if epoch > 1 {
            let standing = jobs::standing(&mut self.store.read().await?, &claimed.fence).await?;
            rows.retain(|(idx, ..)| !standing.contains(idx));
        }
        let (later, rows): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| [1, 2].contains(&row.0) && row.2 == 0);
        let (held, rows): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.0 == 3 && claimed.held_since.is_none());
        let later: Vec<Row> = later.into_iter().map(|(idx, copies, tries)| (idx, copies, tries + 1)).collect();
        let put_off = if later.is_empty() { vec![] } else { vec![chunk(&later, self.now + 5_000)] };
        let mut results: Vec<RowResult> = rows.iter().map(|(idx, copies, _)| result(*idx, *copies)).collect();
        let rest = results.split_off(results.len().min(1));
        let (fences, until) = ([claimed.fence], self.now + LEASE_MS);
        self.settle(claimed, SettledPart { results, ..SettledPart::default() }).await?;
        self.store.write(|tx| jobs::extend(tx, &fences, until).scope_boxed()).await?;
        self.cancel(job).await;
        let since = self.now;
        let stay =
            (!held.is_empty()).then(|| ChunkRelease { ready_at: since + 5_000, size: 1, left_rows: vec![0b10], since });
        self.settle(
            claimed,
            SettledPart { results: rest, put_off, done: stay.is_none(), part: 1, stay, ..SettledPart::default() },
        )
        .await
    }

    /// Settles a part, and repeats the write if its commit is uncertain.
    async fn settle(&mut self, claimed: &ClaimedChunk, settled: SettledPart) -> Result<()> {
        let message = DeliveryId::new(self.now, self.next());
        let now = self.now;
        let mut tries = 0;
        loop {
            let written = self.store.write(|tx| {
                async {
                    let closed = jobs::settle(tx, &claimed.fence, &settled, now).await?;
                    announce(tx, closed.as_ref(), message, now).await
                }
                .scope_boxed()
            });
            match written.await {
                Err(StoreError::Unavailable { .. }) if tries < 2 => tries += 1,
                written => return written,
            }
        }
    }

    /// Cancels the second job for a client, and repeats that until there is a response.
    async fn cancel(&mut self, job: JobNo) {
        let Some(id) = self.to_cancel.filter(|id| JobNo::of_id(*id) == job) else { return };
        let message = DeliveryId::new(self.now, self.next());
        let (org, now) = (self.org, self.now);
        for _ in 0..ROUNDS {
            let cancelled = self.store.write(|tx| {
                async {
                    let closed = jobs::cancel(tx, org, id, false, now).await?;
                    announce(tx, closed.ok().as_ref(), message, now).await
                }
                .scope_boxed()
            });
            if cancelled.await.is_ok() {
                self.to_cancel = None;
                return;
            }
        }
        panic!("it cannot be cancelled");
    }

    /// Sends due deliveries, and records them.
    async fn deliver(&mut self) -> Result<()> {
        let (run, now) = (format!("run {:?}", self.next()), self.now);
        if !outbox::any_due(&mut self.store.read().await?, now, SenderCapacity::of(1)).await? {
            return Ok(());
        }
        let claimed =
            self.store.write(|tx| outbox::claim(tx, now, LEASE_MS, &run, SenderCapacity::of(10)).scope_boxed()).await?;
        for one in claimed {
            *self.told.entry(one.event).or_default() += 1;
            let attempt = outbox::AttemptResult {
                at: now,
                took_ms: 1,
                status: Some(200),
                error: None,
                answer: vec![],
                state: outbox::OutboxState::Delivered,
                next_at: now,
            };
            self.store.write(|tx| outbox::record(tx, &one, &attempt).scope_boxed()).await?;
        }
        Ok(())
    }

    /// Packs closed jobs.
    async fn pack(&mut self) -> Result<()> {
        let (now, until) = (self.now, self.now + LEASE_MS);
        loop {
            let claim = self.store.write(|tx| jobs::claim_packing(tx, now, LEASE_MS).scope_boxed()).await?;
            let Some(mut packing) = claim else { return Ok(()) };
            while let Some(next) = jobs::pack(&self.store, packing, until).await? {
                packing = next;
            }
        }
    }

    /// Returns whether all jobs are closed and packed and all deliveries sent.
    async fn is_over(&self) -> Result<bool> {
        let open = self.read_all().await?.iter().any(|job| !job.state.is_closed());
        let later = self.now + 100 * LEASE_MS;
        let due = outbox::any_due(&mut self.store.read().await?, later, SenderCapacity::of(1)).await?;
        let probe = self.store.write(|tx| {
            // At `later`, claimed jobs are included. The claim is rolled back.
            async move {
                match jobs::claim_packing(tx, later, 0).await? {
                    Some(_) => Err(StoreError::Conflict),
                    None => Ok(()),
                }
            }
            .scope_boxed()
        });
        match probe.await {
            Ok(()) => Ok(!open && !due),
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn read_all(&self) -> Result<Vec<Job>> {
        let mut conn = self.store.read().await?;
        let mut all = Vec::new();
        for id in &self.jobs {
            all.push(jobs::by_id(&mut conn, self.org, *id, false).await?);
        }
        Ok(all)
    }

    /// The end state is the same after any failure. The audit checks ledger and rows.
    pub(super) async fn check(&self, what: &str) {
        let mut conn = self.store.read().await.unwrap();
        let left = jobs::broken_off(&mut conn, Millis(i64::MAX), 10).await.unwrap();
        assert!(left.len() <= 1, "{what}: {} submissions are left", left.len());
        let swept = self.store.write(|tx| jobs::sweep(tx, &left, self.now).scope_boxed()).await.unwrap();
        assert_eq!(swept, left.len(), "{what}");
        let listed = jobs::page(&mut conn, self.org, &jobs::JobFilter::default(), None, 10).await.unwrap();
        assert_eq!(listed.len(), 3, "{what}: each key made one job");
        let all = self.read_all().await.unwrap();
        let states: Vec<JobState> = all.iter().map(|job| job.state).collect();
        assert_eq!(states, [JobState::Completed, JobState::Cancelled, JobState::ForceStopped], "{what}");
        let first = &all[0];
        assert_eq!((first.counts.processed, first.counts.passed, first.charged), (6, 4, 2), "{what}");
        assert_eq!(all[2].counts.processed, 0, "{what}");
        for job in &all {
            let told = self.told.get(&event(job.id)).copied().unwrap_or(0);
            assert!((1..=2).contains(&told), "{what}: {:?} was told of {told} times", job.state);
        }
        assert_eq!(self.told.len(), 3, "{what}");
        let spent = all.iter().map(|job| job.charged).sum::<i64>();
        let balance = credits::balance(&mut conn, self.org).await.unwrap();
        let [available, held, captured] = [balance.available, balance.held, balance.spent].map(Split::total);
        assert_eq!([available, held, captured], [CREDITS - spent, 0, spent], "{what}");
    }
}

/// Adds the delivery of a closed job, in the transaction that closes it.
async fn announce(tx: &mut Tx, closed: Option<&ClosedJob>, id: DeliveryId, now: Millis) -> Result<()> {
    let Some(closed) = closed else { return Ok(()) };
    let job = jobs::by_no(tx, closed.org, closed.job).await?;
    let message = NewDelivery {
        org: closed.org,
        id,
        event: event(job.id),
        kind: "job.finished".into(),
        url: URL.into(),
        content: DeliveryContent::Bytes(Vec::new()),
        job: None,
        signer: String::new(),
        created_at: now,
    };
    outbox::put(tx, &message).await?;
    Ok(())
}

/// Returns the event of a job, always the same.
fn event(job: JobId) -> EventId {
    EventId::from_bits(job.bits())
}

fn chunk(rows: &[Row], ready_at: Millis) -> NewChunk {
    let (size, body) = (i64::try_from(rows.len()).unwrap(), serde_json::to_vec(rows).unwrap());
    NewChunk { ready_at, size, body, destination: String::new(), source: String::new() }
}

/// Even addresses are valid and cost a credit; the others do not exist.
fn result(idx: i64, copies: i64) -> RowResult {
    let charged = idx % 2 == 0;
    let reason = if charged { Reason::Valid } else { Reason::Nonexistent };
    let findings = if charged { vec![] } else { vec![reason] };
    let kind = OutcomeKind {
        reason,
        findings,
        meta: "m".into(),
        rule: "rule".into(),
        smtp_code: Some(250),
        enhanced: None,
        host: None,
        provider: None,
        source: "smtp".into(),
        flags: 0,
        charged,
    };
    RowResult { idx, copies, kind: kind.into(), suggestion: None }
}
