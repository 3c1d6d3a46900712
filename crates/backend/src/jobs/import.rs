//! Import of a job: normalizes its addresses, finds duplicates, and sorts the rest by domain into chunks.
//!
//! A domain with many addresses gets its own chunks, which can wait until it has room; small domains share chunks. A node
//! imports one job at a time, in memory ([`crate::jobs::sorter`]): sorting 1 million addresses takes about 80 MB. If an import
//! loses its lease, the next holder restarts it. Nothing of an import is visible before its end.

use std::time::Duration;

use crate::jobs::sorter::{Chunk, Sorted, Sorter};
use probity_contract::error::Detail;
use probity_store::jobs::{self, ImportClaim, JobNo, NewChunk};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};
use ring::digest::{SHA256, digest};
use tokio_util::sync::CancellationToken;

use crate::jobs::Jobs;
use crate::jobs::chunk;
use crate::nodes::Work;
use crate::privacy::mailbox;

/// Poll interval without a wake-up.
const POLL: Duration = Duration::from_secs(1);
/// Pause after a failure.
const REST: Duration = Duration::from_secs(2);
/// Blocks read at a time.
const BLOCKS: i64 = 50;
/// Chunks written in one transaction, which must stay short.
const CHUNKS: usize = 10;
/// Duplicate rows written in one transaction.
const DUPLICATES: usize = 5_000;

/// Imports one job after another until `ending` is canceled.
pub async fn run(jobs: Jobs, ending: CancellationToken) {
    while !ending.is_cancelled() {
        let pause = match next(&jobs, &ending).await {
            Ok(true) => continue,
            Ok(false) => jobs.presence.poll(POLL),
            Err(error) => {
                tracing::warn!(%error, "an import failed; restarting it");
                REST
            }
        };
        tokio::select! {
            () = ending.cancelled() => {}
            () = jobs.wake.import.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Imports the oldest waiting job, if this node may; returns whether there was one.
async fn next(jobs: &Jobs, ending: &CancellationToken) -> Result<bool, Detail> {
    if !jobs.presence.may_work() {
        return Ok(false);
    }
    let now = jobs.now();
    if !jobs::any_import(&mut jobs.store.read().await?, now).await? {
        return Ok(false);
    }
    let claim = jobs.store.write(|tx| jobs::claim_import(tx, now, jobs.lease_ms()).scope_boxed()).await?;
    let Some(claim) = claim else { return Ok(false) };
    let _working = jobs.presence.works_on(Work::Import);
    match ending.run_until_cancelled(import(jobs, &claim)).await {
        Some(Ok(())) => jobs.wake.work.notify_one(),
        // The node is shutting down. Releasing the lease lets the next holder restart the import immediately.
        None => jobs.store.write(|tx| jobs::free_import(tx, &claim).scope_boxed()).await?,
        // Another node has the import, or the job was canceled.
        Some(Err(Failed::Lost)) => {}
        Some(Err(Failed::Other(error))) => return Err(error),
    }
    Ok(true)
}

enum Failed {
    Lost,
    Other(Detail),
}

impl<E: Into<Detail> + 'static> From<E> for Failed {
    fn from(error: E) -> Self {
        let error: Detail = error.into();
        match error.downcast_ref::<StoreError>() {
            Some(StoreError::LeaseLost | StoreError::NotFound) => Self::Lost,
            _ => Self::Other(error),
        }
    }
}

async fn import(jobs: &Jobs, claim: &ImportClaim) -> Result<(), Failed> {
    while restart(jobs, claim).await? {}
    let sorted = read(jobs, claim).await?;
    let repeated = sorted.duplicates.len();
    for part in sorted.duplicates.chunks(DUPLICATES) {
        add(jobs, claim, &[], part).await?;
    }
    let ready_at = jobs.now();
    let packed = |chunk: &Chunk| {
        let destination = chunk.destination.clone();
        NewChunk { destination, ..chunk::pack(&sorted.rows(chunk), ready_at) }
    };
    for some in sorted.chunks.chunks(CHUNKS) {
        let chunks: Vec<NewChunk> = some.iter().map(packed).collect();
        add(jobs, claim, &chunks, &[]).await?;
    }
    let (repeated, now) = (i64::try_from(repeated)?, jobs.now());
    Ok(jobs.store.write(|tx| jobs::imported(tx, claim, repeated, now).scope_boxed()).await?)
}

/// Removes part of an earlier holder's work; returns whether more may be left.
async fn restart(jobs: &Jobs, claim: &ImportClaim) -> Result<bool, StoreError> {
    let now = jobs.now();
    jobs.store.write_bulk(|tx| jobs::restart_import(tx, claim, now, jobs.lease_ms()).scope_boxed()).await
}

async fn add(jobs: &Jobs, claim: &ImportClaim, chunks: &[NewChunk], repeated: &[(i64, i64)]) -> Result<(), StoreError> {
    let now = jobs.now();
    jobs.store.write_bulk(|tx| jobs::add_chunks(tx, claim, chunks, repeated, now, jobs.lease_ms()).scope_boxed()).await
}

/// Reads and sorts all blocks of a job, outside the threads that serve requests.
async fn read(jobs: &Jobs, claim: &ImportClaim) -> Result<Sorted, Failed> {
    let mut sorter = Sorter::of_rows(claim.rows)?;
    let mut held = jobs.now();
    while take_next(&jobs.store, (claim.org, claim.job), &mut sorter).await? {
        if jobs.now().since(held) > jobs.lease_ms() / 4 {
            add(jobs, claim, &[], &[]).await?;
            held = jobs.now();
        }
    }
    let rows = claim.rows;
    Ok(tokio::task::spawn_blocking(move || sorter.sorted(rows)).await??)
}

/// Adds the next blocks of a job. Returns false if there are none.
async fn take_next(store: &Store, (org, job): (OrgNo, JobNo), sorter: &mut Sorter) -> Result<bool, Detail> {
    let blocks = jobs::blocks(&mut store.read().await?, org, job, sorter.rows, BLOCKS).await?;
    let is_over = blocks.is_empty();
    if !is_over {
        let taken = std::mem::take(sorter);
        *sorter = tokio::task::spawn_blocking(move || taken.take(&blocks)).await??;
    }
    Ok(!is_over)
}

/// Returns the number of distinct addresses in the first `rows` rows of a job: what they cost at most.
pub(crate) async fn distinct(store: &Store, of: (OrgNo, JobNo), rows: i64) -> Result<i64, Detail> {
    let mut sorter = Sorter::of_rows(rows)?;
    while take_next(store, of, &mut sorter).await? {}
    let read = sorter.rows;
    let addresses = tokio::task::spawn_blocking(move || sorter.sorted(read)).await??;
    Ok(read - i64::try_from(addresses.duplicates.len())?)
}

/// Returns a key that all rows of a mailbox share, and its domain. The domain is empty if the text is not an address.
pub fn mailbox_key(email: &str) -> ([u8; 16], Box<str>) {
    let (normal, domain) = mailbox::normal_form(email);
    let hash = digest(&SHA256, normal.as_bytes());
    let key = hash.as_ref().first_chunk().expect("SHA-256 has 32 bytes");
    (*key, domain)
}
