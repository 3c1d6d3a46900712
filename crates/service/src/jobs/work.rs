//! One chunk at work: verified by the engine, settled in parts, kept alive by heartbeats.
//!
//! A part is settled after [`PART_ROWS`] results or [`PART_MS`], so that a crash loses little and readers see progress. What
//! becomes of rows that must wait is settled with the last part ([`super::rest`]): none is lost, and no lease lasts through a
//! wait. Whoever loses the
//! lease stops at once; what it has found out since its last part is thrown away.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use probity_account::overrides::Overrides;
use probity_engine::{Item, Outcome, Sink};
use probity_store::erasures::Tag;
use probity_store::jobs::{self, Claimed, Fence, Settled, Stay};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, Tx, settings};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Interval;
use tokio_util::sync::CancellationToken;

use crate::erasures;
use crate::error::Detail;
use crate::jobs::chunk;
use crate::jobs::chunk::{ROWS_MAX, Row};
use crate::jobs::found::Found;
use crate::jobs::rest::Waiting;
use crate::jobs::suppressed::Suppressed;
use crate::jobs::{Jobs, announce};
use crate::nodes::Work;
use crate::ops::metrics::Origin;
use crate::webhooks::tell;

/// Results that are settled together: all of a chunk, where they come fast enough.
const PART_ROWS: usize = ROWS_MAX;
/// How long results wait to be settled, in milliseconds.
const PART_MS: u64 = 2_000;
/// How often a part is tried to be written while the database is away; the lease ends meanwhile.
const WRITES_MAX: u32 = 5;

/// Works on a chunk until it is done, lost, or the node ends. `left` tells how many of its rows have no outcome yet.
pub async fn run(jobs: &Jobs, claimed: Claimed, test: bool, ending: &CancellationToken, left: &AtomicUsize) {
    let fence = claimed.fence;
    let _working = jobs.presence.works_on(Work::Chunk);
    match work(jobs, claimed, test, ending, left).await {
        Ok(()) => {}
        Err(Stop::Lost) => tracing::info!(job = fence.job.0, chunk = fence.chunk, "another node took over the chunk"),
        Err(Stop::Failed(error)) => {
            tracing::error!(%error, job = fence.job.0, chunk = fence.chunk, "a chunk failed; it will be claimed again");
        }
    }
    jobs.wake.work.notify_one();
}

enum Stop {
    Lost,
    Failed(Detail),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost | StoreError::NotFound => Self::Lost,
            other => Self::Failed(other.into()),
        }
    }
}

/// What has come back and is not settled.
struct Progress {
    fence: Fence,
    rows: HashMap<u64, Row>,
    found: Vec<Found>,
    waiting: Waiting,
    parts: u32,
}

async fn work(
    jobs: &Jobs,
    claimed: Claimed,
    test: bool,
    ending: &CancellationToken,
    left: &AtomicUsize,
) -> Result<(), Stop> {
    let rows = unsettled(jobs, &claimed).await?;
    left.store(rows.len(), Ordering::Relaxed);
    let (erased, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, row)| row.email.is_none());
    let found = erased.iter().map(|(_, row)| Found::erased(row)).collect();
    let (items, rows) = numbered(rows, claimed.fence.org);
    let fence = claimed.fence;
    let mut progress = Progress { fence, rows, found, waiting: Waiting::default(), parts: 0 };
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
                    progress.take(jobs, group, test);
                    left.store(progress.rows.len(), Ordering::Relaxed);
                }
            },
            _ = heartbeat.tick() => extend(jobs, progress.fence).await?,
            _ = part.tick() => progress.settle(jobs).await?,
        }
        if progress.found.len() >= PART_ROWS {
            progress.settle(jobs).await?;
        }
    };
    engine.0.abort();
    // The engine answers each row; where it did not (it panicked, or the node ends), the chunk is taken up again: at once when
    // the node ends, but after a panic not before the lease has ended, because the next engine may panic as well.
    if ended && progress.rows.is_empty() {
        return progress.end(jobs, &claimed.destination).await;
    }
    progress.settle(jobs).await?;
    if !ended {
        jobs.store.write(|tx| jobs::free(tx, &progress.fence).scope_boxed()).await?;
    }
    Ok(())
}

/// Ticks for the first time when the time has passed once.
fn every(time: Duration) -> Interval {
    let mut beats = tokio::time::interval(time);
    // Else the first would come at once.
    beats.reset();
    beats
}

/// How often the holder of a lease shows that it lives.
fn heartbeat(lease_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(lease_ms / 4).unwrap_or(0).max(1))
}

/// The rows of a chunk that have no result, with their places: all of them, unless it was let go before, or an earlier
/// holder died half-way.
async fn unsettled(jobs: &Jobs, claimed: &Claimed) -> Result<Vec<(usize, Row)>, Stop> {
    let mut conn = jobs.store.read().await?;
    let body = jobs::body(&mut conn, claimed).await?;
    let rows = chunk::unpack(&body).map_err(|error| Stop::Failed(error.into()))?;
    let (now, mut rows): (_, Vec<(usize, Row)>) = (jobs.now(), rows.into_iter().enumerate().collect());
    if let Some(left) = &claimed.left_rows {
        rows.retain(|(place, _)| chunk::is_left(left, *place));
    }
    for (_, row) in &mut rows {
        // A clock that was ahead would have it tried for as long as that.
        row.tries.since = row.tries.since.or(claimed.held_since).map(|since| since.min(now));
    }
    if claimed.fence.epoch > 1 {
        let standing = jobs::standing(&mut conn, &claimed.fence).await?;
        rows.retain(|(_, row)| !standing.contains(&row.idx));
    }
    Ok(rows)
}

/// The engine's items, and the rows by the items' keys: their places.
fn numbered(rows: Vec<(usize, Row)>, org: OrgNo) -> (Vec<Item>, HashMap<u64, Row>) {
    let customer = org.0.cast_unsigned();
    let mut items = Vec::with_capacity(rows.len());
    let mut by_key = HashMap::with_capacity(rows.len());
    for (place, row) in rows {
        let key = u64::try_from(place).expect("a chunk is short");
        let email: Arc<str> = row.email.as_deref().unwrap_or_default().trim_ascii().into();
        items.push(Item { key, email, customer, tries: row.tries.clone() });
        by_key.insert(key, row);
    }
    (items, by_key)
}

/// Ends the engine's work on a chunk when nobody waits for it any more.
struct Asking(JoinHandle<()>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn ask(jobs: &Jobs, items: Vec<Item>, test: bool) -> (mpsc::UnboundedReceiver<Vec<(u64, Outcome)>>, Asking) {
    // Bounded by the chunk: each row has one outcome.
    let (sender, outcomes) = mpsc::unbounded_channel();
    let sink: Sink = Arc::new(move |group| {
        let _ = sender.send(group);
    });
    let verifier = if test { jobs.sandbox.clone() } else { jobs.live.clone() };
    (outcomes, Asking(tokio::spawn(async move { verifier.verify_many(items, sink).await })))
}

/// Shows that this holder lives. A database that is away for a moment takes nothing from anybody: the lease goes on.
async fn extend(jobs: &Jobs, fence: Fence) -> Result<(), Stop> {
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

impl Progress {
    fn take(&mut self, jobs: &Jobs, group: Vec<(u64, Outcome)>, test: bool) {
        let origin = if test { Origin::Sandbox } else { Origin::Batch };
        for (key, outcome) in group {
            let Some(mut row) = self.rows.remove(&key) else { continue };
            match outcome {
                Outcome::Settled(verification) => {
                    jobs.metrics.verdicts().record(origin, &verification);
                    self.found.push(Found::new(row, &verification));
                }
                Outcome::PutOff { not_before, tries, held, .. } => {
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

    /// Writes the results that have come.
    async fn settle(&mut self, jobs: &Jobs) -> Result<(), Stop> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.write(jobs, Vec::new(), None, false).await
    }

    /// Writes the last part: what must wait is put where it waits. Where nothing stays, that ends the chunk and, where it was
    /// the job's last, the job.
    async fn end(&mut self, jobs: &Jobs, destination: &str) -> Result<(), Stop> {
        let (put_off, stay) = std::mem::take(&mut self.waiting).part(destination, jobs.now());
        let done = stay.is_none();
        self.write(jobs, put_off, stay, done).await
    }

    async fn write(
        &mut self,
        jobs: &Jobs,
        put_off: Vec<jobs::NewChunk>,
        stay: Option<Stay>,
        done: bool,
    ) -> Result<(), Stop> {
        let part = Part { found: std::mem::take(&mut self.found), put_off, stay, done, no: self.parts };
        self.parts += 1;
        let mut tries = 1;
        loop {
            match write(jobs, &self.fence, &part).await {
                Err(StoreError::Unavailable { .. }) if tries < WRITES_MAX => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                written => return Ok(written?),
            }
        }
    }
}

/// What is written together.
struct Part {
    found: Vec<Found>,
    put_off: Vec<jobs::NewChunk>,
    stay: Option<Stay>,
    done: bool,
    no: u32,
}

impl Part {
    fn settled(&self, suppressed: &Suppressed, overrides: Option<&Overrides>) -> Settled {
        let rows = self.found.iter().enumerate();
        let results = rows.map(|(place, found)| found.after(suppressed.at(place), overrides)).collect();
        let (put_off, stay) = (self.put_off.clone(), self.stay.clone());
        Settled { results, put_off, done: self.done, part: self.no, stay }
    }

    /// Takes suggestions back that were erased since the job was accepted: they were found before that, and stand in no row.
    async fn suggest_no_erased(
        &self,
        tx: &mut Tx,
        jobs: &Jobs,
        fence: &Fence,
        settled: &mut Settled,
    ) -> Result<(), StoreError> {
        let tag = |found: &Found| found.suggestion().map(|email| erasures::tag(&jobs.secrets, fence.org, email));
        let tags: Vec<Option<Tag>> = self.found.iter().map(tag).collect();
        let suggested: BTreeSet<Tag> = tags.iter().copied().flatten().collect();
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

/// In one transaction with the settings and the lists that count: a change of them is in all of a part or in none of it.
async fn write(jobs: &Jobs, fence: &Fence, part: &Part) -> Result<(), StoreError> {
    let now = jobs.now();
    let written = jobs.store.write_bulk(|tx| {
        async {
            let wishes = settings::read(tx, fence.org).await?.overrides;
            let emails = part.found.iter().map(|found| found.email().unwrap_or_default());
            let suppressed = Suppressed::of(tx, &jobs.secrets, fence.org, emails).await?;
            let mut settled = part.settled(&suppressed, jobs.overrides.of(fence.org, wishes).as_deref());
            part.suggest_no_erased(tx, jobs, fence, &mut settled).await?;
            let closed = jobs::settle(tx, fence, &settled, now).await?;
            let told = tell::rows_settled(tx, fence, &settled.results, now).await?;
            if let Some(closed) = &closed {
                announce(tx, closed, now).await?;
            }
            Ok(told || closed.is_some())
        }
        .scope_boxed()
    });
    if written.await? {
        jobs.callbacks.wake();
    }
    Ok(())
}
