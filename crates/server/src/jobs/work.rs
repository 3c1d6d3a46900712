//! One chunk at work: verified by the engine, settled in parts, kept alive by heartbeats.
//!
//! A part is settled after [`PART_ROWS`] results or [`PART_MS`], so that a crash loses little and readers see progress. Rows that
//! must wait go, with the last part, into later chunks: none is lost, and no lease lasts through a wait. Whoever loses the
//! lease stops at once; what it has found out since its last part is thrown away.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use probity_core::overrides::Overrides;
use probity_core::time::Millis;
use probity_engine::{Item, Outcome, Sink};
use probity_store::jobs::{self, Claimed, Fence, Kinds, Settled};
use probity_store::{ScopedFutureExt as _, StoreError, settings};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::chunk::{self, ROWS_MAX, Row};
use super::found::Found;
use super::{Jobs, announce};
use crate::error::Detail;
use crate::nodes::Work;
use crate::ops::metrics::Origin;

/// Results that are settled together.
const PART_ROWS: usize = 500;
/// How long results wait to be settled, in milliseconds.
const PART_MS: u64 = 2_000;
/// Rows that are put off wait together when their times differ by less than this, in milliseconds.
const TOGETHER_MS: i64 = 5_000;
/// How often a part is tried to be written while the database is away; the lease ends meanwhile.
const WRITES_MAX: u32 = 5;

/// Works on a chunk until it is done, lost, or the node ends.
pub(super) async fn run(jobs: &Jobs, claimed: Claimed, test: bool, ending: &CancellationToken) {
    let fence = claimed.fence;
    let _working = jobs.presence.works_on(Work::Chunk);
    match work(jobs, claimed, test, ending).await {
        Ok(()) => {}
        Err(Stop::Lost) => tracing::info!(job = fence.job.0, chunk = fence.chunk, "another node has the chunk"),
        Err(Stop::Failed(error)) => {
            tracing::error!(%error, job = fence.job.0, chunk = fence.chunk, "a chunk failed; it is taken up again");
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
    kinds: Arc<Kinds>,
    rows: HashMap<u64, Row>,
    found: Vec<Found>,
    put_off: Vec<(Millis, Row)>,
    parts: u32,
}

async fn work(jobs: &Jobs, claimed: Claimed, test: bool, ending: &CancellationToken) -> Result<(), Stop> {
    let rows = unsettled(jobs, &claimed).await?;
    let (items, rows) = numbered(rows);
    let (fence, kinds) = (claimed.fence, jobs.kinds.of(&claimed.fence));
    let mut progress = Progress { fence, kinds, rows, found: Vec::new(), put_off: Vec::new(), parts: 0 };
    let (mut outcomes, engine) = ask(jobs, items, test);
    let mut heartbeat = tokio::time::interval(heartbeat(jobs.lease_ms()));
    let mut part = tokio::time::interval(Duration::from_millis(PART_MS));
    let ended = loop {
        tokio::select! {
            biased;
            () = ending.cancelled() => break false,
            group = outcomes.recv() => match group {
                None => break true,
                Some(group) => progress.take(jobs, group, test),
            },
            _ = heartbeat.tick() => extend(jobs, progress.fence).await?,
            _ = part.tick() => progress.settle(jobs, false).await?,
        }
        if progress.found.len() >= PART_ROWS {
            progress.settle(jobs, false).await?;
        }
    };
    engine.0.abort();
    // The engine answers each row; where it did not (it panicked, or the node ends), the chunk is taken up again.
    let done = ended && progress.rows.is_empty();
    progress.settle(jobs, done).await?;
    if !done {
        jobs.store.write(|tx| jobs::free(tx, &progress.fence).scope_boxed()).await?;
    }
    Ok(())
}

/// How often the holder of a lease shows that it lives.
fn heartbeat(lease_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(lease_ms / 4).unwrap_or(0).max(1))
}

/// The rows of a chunk that have no result: all of them, unless an earlier holder died half-way.
async fn unsettled(jobs: &Jobs, claimed: &Claimed) -> Result<Vec<Row>, Stop> {
    let mut rows = chunk::unpack(&claimed.body).map_err(|error| Stop::Failed(error.into()))?;
    let Fence { org, job, epoch, .. } = claimed.fence;
    if epoch > 1 {
        let indexes: Vec<i64> = rows.iter().map(|row| row.idx).collect();
        let standing = jobs::standing(&mut jobs.store.read().await?, org, job, &indexes).await?;
        rows.retain(|row| !standing.contains(&row.idx));
    }
    Ok(rows)
}

/// The engine's items, and the rows by the items' keys.
fn numbered(rows: Vec<Row>) -> (Vec<Item>, HashMap<u64, Row>) {
    let mut items = Vec::with_capacity(rows.len());
    let mut by_key = HashMap::with_capacity(rows.len());
    for (key, row) in (0..).zip(rows) {
        let email: Arc<str> = row.email.trim_ascii().into();
        items.push(Item { key, email, tries: row.tries });
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
            tracing::warn!(%error, "a chunk could not be held for longer; it is tried again");
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
                Outcome::PutOff { not_before, tries, .. } => {
                    row.tries = tries;
                    self.put_off.push((not_before, row));
                }
            }
        }
    }

    /// Writes what has come. The last part ends the chunk and, where it was the job's last, the job.
    async fn settle(&mut self, jobs: &Jobs, done: bool) -> Result<(), Stop> {
        if self.found.is_empty() && !done {
            return Ok(());
        }
        let put_off = if done { later(std::mem::take(&mut self.put_off)) } else { Vec::new() };
        let part = Part { found: std::mem::take(&mut self.found), put_off, done, no: self.parts };
        self.parts += 1;
        let mut tries = 1;
        loop {
            match write(jobs, &self.fence, &part, &self.kinds).await {
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
    done: bool,
    no: u32,
}

impl Part {
    fn settled(&self, overrides: Option<&Overrides>) -> Settled {
        let results = self.found.iter().map(|found| found.after(overrides)).collect();
        Settled { results, put_off: self.put_off.clone(), done: self.done, part: self.no }
    }
}

/// In one transaction with the settings that count: a change of them is in all of a part or in none of it.
async fn write(jobs: &Jobs, fence: &Fence, part: &Part, kinds: &Kinds) -> Result<(), StoreError> {
    let now = jobs.now();
    let written = jobs.store.write(|tx| {
        async {
            let wishes = settings::read(tx, fence.org).await?.overrides;
            let settled = part.settled(jobs.overrides.of(fence.org, wishes).as_deref());
            let closed = jobs::settle(tx, fence, &settled, kinds, now).await?;
            if let Some(closed) = &closed {
                announce(tx, closed, now).await?;
            }
            Ok(closed.is_some())
        }
        .scope_boxed()
    });
    if written.await? {
        jobs.callbacks.wake();
    }
    Ok(())
}

/// Rows that must wait, in chunks by the time for which they wait.
fn later(rows: Vec<(Millis, Row)>) -> Vec<jobs::NewChunk> {
    let mut by_time: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
    for (not_before, row) in rows {
        by_time.entry(not_before.0.div_euclid(TOGETHER_MS)).or_default().push(row);
    }
    let mut chunks = Vec::new();
    for (time, rows) in by_time {
        let ready_at = Millis((time + 1) * TOGETHER_MS);
        chunks.extend(rows.chunks(ROWS_MAX).map(|rows| chunk::pack(rows, ready_at)));
    }
    chunks
}

#[cfg(test)]
mod tests {
    use probity_engine::Tries;

    use super::*;

    #[test]
    fn rows_that_wait_for_the_same_time_wait_together_and_never_too_short() {
        let row = |idx| Row { idx, copies: 1, tries: Tries::default(), email: "a@example.org".into() };
        let chunks = later(vec![(Millis(12_000), row(1)), (Millis(10_000), row(2)), (Millis(99_999), row(3))]);
        let seen: Vec<_> = chunks.iter().map(|chunk| (chunk.ready_at.0, chunk.size)).collect();
        assert_eq!(seen, [(15_000, 2), (100_000, 1)]);
    }
}
