//! Maintenance of closed jobs: packs their results, and removes their rows after the retention.
//!
//! Each step is a short transaction, so that no request waits long for the writer, and several nodes can work at once. Any node
//! continues what another left unfinished. After rows were removed, SQLite's write-ahead log is emptied, because it still
//! contains them.

use std::time::Duration;

use probity_store::credits::usage;
use probity_store::{Result, ScopedFutureExt as _, jobs};
use tokio_util::sync::CancellationToken;

use crate::jobs::Jobs;

/// Interval between rounds.
const POLL: Duration = Duration::from_secs(5);
/// Lease of a job that a node packs, in milliseconds, renewed with each step.
const HOLD_MS: i64 = probity_store::nodes::ahead::PACKING_MS;
/// Jobs per transaction.
const JOBS_MAX: i64 = 100;
/// Counted domains per transaction.
const DOMAINS_MAX: i64 = 1_000;
/// Time for which a closed job is listed, in milliseconds. Longer than the period of any report or timeline.
const JOB_KEPT_MS: i64 = 400 * 86_400_000;

/// Packs and purges until `ending` is canceled.
pub async fn run(jobs: Jobs, ending: CancellationToken) {
    // An earlier process may have ended before it emptied the log.
    let mut remnants = true;
    let mut domains_forgotten_on = None;
    while !ending.is_cancelled() {
        if jobs.presence.may_work()
            && let Err(error) = whole_round(&jobs, &mut remnants, &mut domains_forgotten_on, &ending).await
        {
            tracing::warn!(%error, "cannot pack or purge closed jobs; retrying");
        }
        ending.run_until_cancelled(tokio::time::sleep(POLL)).await;
    }
}

/// Runs a round, and once a day removes counted domains: on PostgreSQL, finding old ones reads all of them.
async fn whole_round(
    jobs: &Jobs,
    remnants: &mut bool,
    domains_forgotten_on: &mut Option<i64>,
    ending: &CancellationToken,
) -> Result<()> {
    let today = jobs.now().utc_day();
    if *domains_forgotten_on != Some(today) {
        while !ending.is_cancelled() && forget_domains(jobs, today).await? {}
        *domains_forgotten_on = Some(today);
    }
    round(jobs, remnants, ending).await
}

/// Runs all other tasks that are due. `remnants` is set while removed rows may still be in the log.
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
    mark_deleted(jobs).await?;
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

/// Marks jobs that users deleted.
async fn mark_deleted(jobs: &Jobs) -> Result<()> {
    let (store, now) = (&jobs.store, jobs.now());
    let deleted = jobs::deleted(&mut store.read().await?, JOBS_MAX).await?;
    if !deleted.is_empty() {
        store.write(|tx| jobs::mark_deleted(tx, &deleted, now).scope_boxed()).await?;
    }
    Ok(())
}

/// Removes counted domains older than the retention of results; returns whether there were any.
async fn forget_domains(jobs: &Jobs, today: i64) -> Result<bool> {
    let store = &jobs.store;
    let old = usage::old_domains(&mut store.read().await?, today, jobs.config.keep_days, DOMAINS_MAX).await?;
    if !old.is_empty() {
        store.write(|tx| usage::forget_domains(tx, &old).scope_boxed()).await?;
    }
    Ok(!old.is_empty())
}

/// Marks jobs whose retention has ended.
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
