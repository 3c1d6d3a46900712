//! What becomes of closed jobs: their results are packed, and in time their rows are removed.
//!
//! Each step is a short transaction, so that no request waits long for the writer, and can be done by several nodes at once.
//! What a node leaves half-done is gone on with by whichever comes first. SQLite's log is emptied after rows were removed: until
//! then
//! they stand in it.

use std::time::Duration;

use probity_store::{Result, ScopedFutureExt as _, jobs};
use tokio_util::sync::CancellationToken;

use crate::jobs::Jobs;

/// How long the task waits when there is nothing to do.
const POLL: Duration = Duration::from_secs(5);
/// For how long a node that packs a job has it for itself after each step, in milliseconds.
const HOLD_MS: i64 = probity_store::ahead::PACKING_MS;
/// Jobs of one transaction.
const JOBS_MAX: i64 = 100;
/// For how long a job is listed after its rows are gone, in milliseconds: longer than any report or timeline looks back.
const JOB_KEPT_MS: i64 = 400 * 86_400_000;

/// Packs and purges until it is told to end.
pub async fn run(jobs: Jobs, ending: CancellationToken) {
    // A process before this one may have removed rows last.
    let mut remnants = true;
    while !ending.is_cancelled() {
        if jobs.presence.may_work()
            && let Err(error) = round(&jobs, &mut remnants, &ending).await
        {
            tracing::warn!(%error, "cannot pack or purge closed jobs; retrying");
        }
        ending.run_until_cancelled(tokio::time::sleep(POLL)).await;
    }
}

/// Everything that is due now. `remnants`: rows were removed that may still stand in the log.
async fn round(jobs: &Jobs, remnants: &mut bool, ending: &CancellationToken) -> Result<()> {
    let store = &jobs.store;
    loop {
        let now = jobs.now();
        if !jobs::any_to_pack(&mut store.read().await?, now).await? {
            break;
        }
        let claimed = store.write(|tx| jobs::claim_packing(tx, now, HOLD_MS).scope_boxed()).await?;
        let Some(mut packing) = claimed else { break };
        while let Some(next) = jobs::pack(store, packing, jobs.now() + HOLD_MS).await? {
            if ending.is_cancelled() {
                return Ok(());
            }
            packing = next;
        }
    }
    mark_due(jobs).await?;
    if jobs::any_marked(&mut store.read().await?).await? {
        while !ending.is_cancelled() && store.write_bulk(|tx| jobs::purge_rows(tx).scope_boxed()).await? {
            *remnants = true;
        }
    }
    if *remnants {
        *remnants = !store.empty_log().await?;
    }
    let before = jobs.now() - JOB_KEPT_MS;
    if jobs::any_old(&mut store.read().await?, before).await? {
        store.write(|tx| jobs::forget(tx, before, JOBS_MAX).scope_boxed()).await?;
    }
    Ok(())
}

/// Marks jobs whose rows were kept for long enough.
async fn mark_due(jobs: &Jobs) -> Result<()> {
    let (store, now, days) = (&jobs.store, jobs.now(), jobs.config.keep_days);
    let due = jobs::due(&mut store.read().await?, now, days, JOBS_MAX).await?;
    if due.is_empty() {
        return Ok(());
    }
    let marked = store.write(|tx| jobs::mark_due(tx, &due, now, days).scope_boxed()).await?;
    if marked > 0 {
        tracing::info!(jobs = marked, "removing the rows of old jobs");
        jobs.metrics.jobs_purged(marked);
    }
    Ok(())
}
