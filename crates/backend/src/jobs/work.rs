//! Work on one chunk: the engine verifies it, parts of it are settled, and heartbeats keep its lease.
//!
//! A part is settled after [`PART_ROWS`] results or [`PART_MS`], so that a crash loses little and readers see progress. Rows
//! that must wait are written with the last part ([`super::rest`]), so that none is lost and no lease lasts through a wait. A
//! worker that loses its lease stops immediately, and its results since the last part are discarded.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use probity_account::connections::ContactStanding;
use probity_account::overrides::Overrides;
use probity_contract::error::Detail;
use probity_engine::{AddressOutcome, JobAddress, OutcomeSink, PriorAttempts};
use probity_mail::address::bare_address;
use probity_store::accounts::settings;
use probity_store::jobs::{self, ChunkFence, ChunkRelease, ClaimedChunk, NewChunk, SettledChange, SettledPart};
use probity_store::privacy::erasures::SuppressionTag;
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, Tx, work};
use probity_telemetry::metrics::Origin;
use tokio::sync::mpsc;
use tokio::time::Interval;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::connections::planning::{KnownContacts, RunPlan, SettledContact};
use crate::jobs::chunk::{self, ChunkRow, ROWS_MAX};
use crate::jobs::found::{ReportedRow, VerifiedRow};
use crate::jobs::rest::Waiting;
use crate::jobs::suppressed::Suppressed;
use crate::jobs::{Jobs, announce};
use crate::nodes::Work;
use crate::privacy::erasures;
use crate::webhooks::tell;

/// Results settled together: a whole chunk, if they arrive fast enough.
const PART_ROWS: usize = ROWS_MAX;
/// Maximum time that results wait to be settled, in milliseconds.
const PART_MS: u64 = 2_000;
/// Pause before a failed write is repeated.
const WRITE_AGAIN: Duration = Duration::from_secs(1);
/// Attempts to write while the node shuts down.
const LAST_WRITES_MAX: u32 = 5;

/// Works on a chunk until it is complete, its lease is lost or the node shuts down. Sets `left` to the number of rows without an
/// outcome.
pub async fn run(jobs: &Jobs, claimed: ClaimedChunk, test: bool, ending: &CancellationToken, left: &AtomicUsize) {
    let fence = claimed.fence;
    let _working = jobs.presence.works_on(Work::Chunk);
    match work(jobs, claimed, test, ending, left).await {
        Ok(()) => {}
        Err(WorkStop::Lost) => {
            tracing::info!(job = fence.job.0, chunk = fence.chunk, "another node took over the chunk");
        }
        Err(WorkStop::Unavailable(error)) => {
            tracing::warn!(%error, job = fence.job.0, chunk = fence.chunk, "cannot read a chunk; giving it back");
            give_back(jobs, &fence, ending).await;
        }
        Err(WorkStop::Failed(error)) => {
            tracing::error!(%error, job = fence.job.0, chunk = fence.chunk, "a chunk failed; it will be claimed again");
        }
    }
    jobs.wake.work.notify_one();
}

/// Releases a chunk once the database accepts the write, so that it need not wait for the end of its lease.
async fn give_back(jobs: &Jobs, fence: &ChunkFence, ending: &CancellationToken) {
    let freed = until_taken(fence, ending, || jobs.store.write(|tx| jobs::free(tx, fence).scope_boxed())).await;
    if let Err(error) = freed {
        tracing::info!(%error, job = fence.job.0, chunk = fence.chunk, "cannot give a chunk back; its lease will end");
    }
}

/// Repeats a write until it succeeds. If the lease ends meanwhile and another worker claims the chunk, the write fails with
/// [`StoreError::LeaseLost`].
async fn until_taken<W, T>(
    fence: &ChunkFence,
    ending: &CancellationToken,
    write: impl Fn() -> W,
) -> Result<T, StoreError>
where
    W: Future<Output = Result<T, StoreError>>,
{
    let mut tries = 1;
    loop {
        match write().await {
            Err(error @ StoreError::Unavailable { .. }) if !ending.is_cancelled() || tries < LAST_WRITES_MAX => {
                if tries == 1 {
                    let (job, chunk) = (fence.job.0, fence.chunk);
                    tracing::warn!(%error, job, chunk, "cannot store the state of a chunk; retrying until the database takes it");
                }
                tries += 1;
                tokio::time::sleep(WRITE_AGAIN).await;
            }
            written => return written,
        }
    }
}

enum WorkStop {
    Lost,
    Unavailable(StoreError),
    Failed(Detail),
}

impl From<StoreError> for WorkStop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost | StoreError::NotFound => Self::Lost,
            unavailable @ StoreError::Unavailable { .. } => Self::Unavailable(unavailable),
            other => Self::Failed(other.into()),
        }
    }
}

/// Rows of a chunk and their outcomes that are not settled.
struct Progress<'a> {
    jobs: &'a Jobs,
    /// Whether the job is of a test key.
    test: bool,
    fence: ChunkFence,
    ending: &'a CancellationToken,
    rows: HashMap<u64, ChunkRow>,
    found: Vec<VerifiedRow>,
    waiting: Waiting,
    parts: u32,
    /// Planned actions on its rows, if the job is a run.
    plan: Option<RunPlan>,
}

async fn work(
    jobs: &Jobs,
    claimed: ClaimedChunk,
    test: bool,
    ending: &CancellationToken,
    left: &AtomicUsize,
) -> Result<(), WorkStop> {
    let rows = unsettled(jobs, &claimed).await?;
    left.store(rows.len(), Ordering::Relaxed);
    let (erased, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, row)| row.email.is_none());
    let found = erased.iter().map(|(_, row)| VerifiedRow::erased(row)).collect();
    let fence = claimed.fence;
    let hurried = jobs::by_no(&mut jobs.store.read().await?, fence.org, fence.job).await?.hurried_at.is_some();
    let (items, rows) = numbered(rows, fence.org, hurried);
    let plan = RunPlan::of_job(&mut jobs.store.read().await?, jobs.platforms.catalog(), fence.org, fence.job).await?;
    let mut progress = Progress { jobs, test, fence, ending, rows, found, waiting: Waiting::default(), parts: 0, plan };
    let (mut outcomes, engine) = ask(jobs, items, test);
    let mut heartbeat = every(heartbeat(jobs.lease_ms()));
    let mut part = every(Duration::from_millis(PART_MS));
    let ended = loop {
        tokio::select! {
            biased;
            () = ending.cancelled() => break false,
            group = outcomes.recv() => match group {
                None => break true,
                Some(group) => {
                    progress.take(group);
                    left.store(progress.rows.len(), Ordering::Relaxed);
                }
            },
            _ = heartbeat.tick() => extend(jobs, progress.fence).await?,
            _ = part.tick() => progress.settle().await?,
        }
        if progress.found.len() >= PART_ROWS {
            progress.settle().await?;
        }
    };
    engine.abort();
    // The engine reports every row. Otherwise it panicked or the node ends, and the chunk is claimed again. That is immediately
    // if the node ends, but only after the lease expires if the engine panicked, because the next engine may panic as well.
    if ended && progress.rows.is_empty() {
        return progress.end(&claimed.destination).await;
    }
    progress.settle().await?;
    if !ended {
        give_back(jobs, &fence, ending).await;
    }
    Ok(())
}

/// Creates an interval whose first tick comes after one period.
fn every(time: Duration) -> Interval {
    let mut beats = tokio::time::interval(time);
    // Otherwise the first tick would come immediately.
    beats.reset();
    beats
}

/// Returns the interval at which a lease is renewed.
fn heartbeat(lease_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(lease_ms / 4).unwrap_or(0).max(1))
}

/// Returns the rows of a chunk without a result, with their positions. These are all rows, unless the chunk was released before
/// or an earlier holder died halfway.
async fn unsettled(jobs: &Jobs, claimed: &ClaimedChunk) -> Result<Vec<(usize, ChunkRow)>, WorkStop> {
    let mut conn = jobs.store.read().await?;
    let body = jobs::body(&mut conn, claimed).await?;
    let rows = chunk::unpack(&body).map_err(|error| WorkStop::Failed(error.into()))?;
    let (now, mut rows): (_, Vec<(usize, ChunkRow)>) = (jobs.now(), rows.into_iter().enumerate().collect());
    if let Some(left) = &claimed.left_rows {
        rows.retain(|(place, _)| chunk::is_left(left, *place));
    }
    for (_, row) in &mut rows {
        // A time dated ahead by a fast clock would prolong the retries.
        row.tries.since = row.tries.since.or(claimed.held_since).map(|since| since.min(now));
    }
    if claimed.fence.epoch > 1 {
        let standing = jobs::standing(&mut conn, &claimed.fence).await?;
        rows.retain(|(_, row)| !standing.contains(&row.idx));
    }
    Ok(rows)
}

/// Returns the engine's items, and the rows by the keys of the items, which are their positions. `last`: no row may be deferred
/// again.
fn numbered(rows: Vec<(usize, ChunkRow)>, org: OrgNo, last: bool) -> (Vec<JobAddress>, HashMap<u64, ChunkRow>) {
    let customer = org.0.cast_unsigned();
    let mut items = Vec::with_capacity(rows.len());
    let mut by_key = HashMap::with_capacity(rows.len());
    for (place, row) in rows {
        let key = u64::try_from(place).expect("a chunk is short");
        let email: Arc<str> = bare_address(row.email.as_deref().unwrap_or_default()).into();
        items.push(JobAddress { key, email, customer, tries: PriorAttempts { last, ..row.tries.clone() } });
        by_key.insert(key, row);
    }
    (items, by_key)
}

/// Starts the engine's work on a chunk. It is aborted when its receiver is dropped.
fn ask(
    jobs: &Jobs,
    items: Vec<JobAddress>,
    test: bool,
) -> (mpsc::UnboundedReceiver<Vec<(u64, AddressOutcome)>>, AbortOnDropHandle<()>) {
    // Bounded by the chunk: each row has one outcome.
    let (sender, outcomes) = mpsc::unbounded_channel();
    let sink: OutcomeSink = Arc::new(move |group| {
        let _ = sender.send(group);
    });
    let verifier = if test { jobs.sandbox.clone() } else { jobs.live.clone() };
    (outcomes, AbortOnDropHandle::new(tokio::spawn(async move { verifier.verify_many(items, sink).await })))
}

/// Renews the lease. If the database is briefly unavailable, the current lease continues.
async fn extend(jobs: &Jobs, fence: ChunkFence) -> Result<(), WorkStop> {
    let (fences, until) = ([fence], jobs.now() + jobs.lease_ms());
    match jobs.store.write(|tx| jobs::extend(tx, &fences, until).scope_boxed()).await {
        Ok(()) => Ok(()),
        Err(error @ StoreError::Unavailable { .. }) => {
            tracing::warn!(%error, "cannot renew the lease of a chunk; retrying");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

impl Progress<'_> {
    fn take(&mut self, group: Vec<(u64, AddressOutcome)>) {
        let origin = if self.test { Origin::Sandbox } else { Origin::Batch };
        for (key, outcome) in group {
            let Some(mut row) = self.rows.remove(&key) else { continue };
            match outcome {
                AddressOutcome::Settled(verification) => {
                    self.jobs.metrics.verdicts().record(origin, &verification);
                    self.found.push(VerifiedRow::new(row, &verification));
                }
                AddressOutcome::PutOff { not_before, tries, held, .. } => {
                    row.tries = tries;
                    match held {
                        None => self.waiting.put_off(not_before, row),
                        Some(held) => {
                            let place = usize::try_from(key).expect("keys are places");
                            self.waiting.hold(place, not_before, held.at, row);
                        }
                    }
                }
            }
        }
    }

    /// Settles the results so far.
    async fn settle(&mut self) -> Result<(), WorkStop> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.write(Vec::new(), None, false).await
    }

    /// Writes the last part, with the rows that must wait. If no row stays, this ends the chunk, and also the job if the chunk
    /// was its last.
    async fn end(&mut self, destination: &str) -> Result<(), WorkStop> {
        let (put_off, stay) = std::mem::take(&mut self.waiting).part(destination, self.jobs.now());
        let done = stay.is_none();
        self.write(put_off, stay, done).await
    }

    async fn write(&mut self, put_off: Vec<NewChunk>, stay: Option<ChunkRelease>, done: bool) -> Result<(), WorkStop> {
        let part = WorkPart { found: std::mem::take(&mut self.found), put_off, stay, done, no: self.parts };
        self.parts += 1;
        let Self { jobs, fence, ending, plan, .. } = &*self;
        Ok(until_taken(fence, ending, || write(jobs, fence, &part, plan.as_ref())).await?)
    }
}

/// Data written in one transaction.
struct WorkPart {
    found: Vec<VerifiedRow>,
    put_off: Vec<NewChunk>,
    stay: Option<ChunkRelease>,
    done: bool,
    no: u32,
}

impl WorkPart {
    /// Returns the facts from rules and platform about each row; none unless the job is a run.
    fn standings(&self, known: Option<&KnownContacts>) -> Vec<ContactStanding> {
        let standing = |found: &VerifiedRow| match (known, found.email()) {
            (Some(known), Some(email)) => known.standing(found.idx(), email),
            _ => ContactStanding::default(),
        };
        self.found.iter().map(standing).collect()
    }

    fn reported(
        &self,
        suppressed: &Suppressed,
        standings: &[ContactStanding],
        overrides: Option<&Overrides>,
    ) -> Vec<ReportedRow> {
        let rows = self.found.iter().zip(standings).enumerate();
        rows.map(|(place, (found, standing))| found.after(suppressed.at(place), *standing, overrides)).collect()
    }

    fn settled(&self, reported: &[ReportedRow]) -> SettledPart {
        let results = reported.iter().map(|row| row.result.clone()).collect();
        let (put_off, stay) = (self.put_off.clone(), self.stay.clone());
        let domains = self.found.iter().filter_map(|found| Some((found.idx(), found.domain()?))).collect();
        SettledPart { results, put_off, done: self.done, part: self.no, stay, domains }
    }

    /// Returns the rows with addresses whose results arrived in this part.
    fn contacts<'a>(
        &'a self,
        settled: &'a SettledPart,
        reported: &'a [ReportedRow],
        standings: &'a [ContactStanding],
        new: &'a BTreeSet<i64>,
    ) -> impl Iterator<Item = SettledContact<'a>> {
        let rows = self.found.iter().zip(&settled.results).zip(reported).zip(standings);
        let rows = rows.filter(|(((_, result), _), _)| new.contains(&result.idx));
        rows.filter_map(|(((found, result), reported), standing)| {
            Some(SettledContact { email: found.email()?, result, standing: *standing, findings: &reported.findings })
        })
    }

    /// Removes suggestions that were erased after the job was accepted. They were found before the erasure and are in no
    /// submitted row.
    async fn suggest_no_erased(
        &self,
        tx: &mut Tx,
        jobs: &Jobs,
        fence: &ChunkFence,
        settled: &mut SettledPart,
    ) -> Result<(), StoreError> {
        let tag = |found: &VerifiedRow| found.suggestion().map(|email| erasures::tag(&jobs.secrets, fence.org, email));
        let tags: Vec<Option<SuppressionTag>> = self.found.iter().map(tag).collect();
        let suggested: BTreeSet<SuppressionTag> = tags.iter().copied().flatten().collect();
        if suggested.is_empty() {
            return Ok(());
        }
        let erased = jobs::erased_since(tx, fence.org, fence.job, &suggested).await?;
        for (result, tag) in settled.results.iter_mut().zip(tags) {
            if tag.is_some_and(|tag| erased.contains(&tag)) {
                result.suggestion = None;
            }
        }
        Ok(())
    }
}

/// Writes a part in one transaction with the settings and suppression lists that it reads. A change to them applies to a whole
/// part or not at all. If the job is a run, the actions on its contacts are planned in the same transaction.
async fn write(jobs: &Jobs, fence: &ChunkFence, part: &WorkPart, plan: Option<&RunPlan>) -> Result<(), StoreError> {
    let now = jobs.now();
    let known = match plan {
        Some(plan) => Some(plan.known(&mut jobs.store.read().await?, part.found.iter().map(VerifiedRow::idx)).await?),
        None => None,
    };
    let standings = part.standings(known.as_ref());
    let written = jobs.store.write_bulk(work!(|tx| {
        let wishes = settings::read(tx, fence.org).await?.overrides;
        let emails = part.found.iter().map(|found| found.email().unwrap_or_default());
        let suppressed = Suppressed::of(tx, &jobs.secrets, fence.org, emails).await?;
        let reported = part.reported(&suppressed, &standings, jobs.overrides.of(fence.org, wishes).as_deref());
        let mut settled = part.settled(&reported);
        part.suggest_no_erased(tx, jobs, fence, &mut settled).await?;
        let SettledChange { closed, new } = jobs::settle_rows(tx, fence, &settled, now).await?;
        if let Some(plan) = plan {
            plan.put(tx, &jobs.secrets, part.contacts(&settled, &reported, &standings, &new), now).await?;
        }
        let told = tell::rows_settled(tx, fence, &settled.results, now).await?;
        if let Some(closed) = &closed {
            announce(tx, closed, now).await?;
        }
        Ok(told || closed.is_some())
    }));
    if written.await? {
        jobs.callbacks.wake();
        jobs.wake.runs.notify_one();
    }
    Ok(())
}
