//! Jobs that the system stops: those that stand still for too long, and those of organizations that were stopped.
//!
//! Whoever bans an organization stops its jobs before the ban is answered ([`stop_jobs_of`]), one transaction a job. Where that
//! breaks off, and for jobs whose acceptance was under way, the rounds of upkeep stop what is left ([`stop_jobs`]).

use probity_mail::time::Millis;
use probity_store::jobs::JobNo;
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, jobs};

use crate::jobs::announce;
use crate::ops::metrics::Metrics;
use crate::webhooks::Callbacks;

/// How long a job may stand still although it is taken up ([`jobs::stalled`]), and how long one of an organization that is
/// paused or suspended waits, in milliseconds: longer than the longest wait of an address.
const STALLED_MS: i64 = 7 * 24 * 3_600_000;
/// Jobs that are stopped in one round.
const AT_MOST: i64 = 100;

/// Stops jobs that have stood still for a week, and those of organizations that were banned. One that cannot be stopped keeps no
/// other from it: it is logged and counted, and tried again in the next round.
pub(crate) async fn stop_jobs(store: &Store, metrics: &Metrics, callbacks: &Callbacks, now: Millis) -> Result<()> {
    let mut told = false;
    for (org, job) in to_stop(store, now).await? {
        match stop(store, org, job, now).await {
            Ok(false) => {}
            Ok(true) => told = true,
            Err(error) => {
                metrics.job_not_stopped();
                tracing::error!(%error, job = job.0, "cannot stop a job; retrying");
            }
        }
    }
    if told {
        callbacks.wake();
    }
    Ok(())
}

/// Stops every job of an organization that was banned. One that cannot be stopped is the caller's to know: the ban stands all
/// the same, and the next round of upkeep goes on where this broke off. Call [`Callbacks::wake`] afterwards.
pub(crate) async fn stop_jobs_of(store: &Store, org: OrgNo, now: Millis) -> Result<()> {
    let mut after = None;
    loop {
        let page = jobs::open_of(&mut store.read().await?, org, after, AT_MOST).await?;
        for (_, job) in &page {
            stop(store, org, *job, now).await?;
        }
        after = page.last().copied();
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn to_stop(store: &Store, now: Millis) -> Result<Vec<(OrgNo, JobNo)>> {
    let mut conn = store.read().await?;
    let mut to_stop = jobs::of_banned(&mut conn, AT_MOST).await?;
    to_stop.extend(jobs::stalled(&mut conn, now - STALLED_MS, now, AT_MOST).await?);
    Ok(to_stop)
}

/// Stops a job, unless nothing is to be said against it any more; says whether.
async fn stop(store: &Store, org: OrgNo, job: JobNo, now: Millis) -> Result<bool> {
    let stopped = store.write(|tx| {
        async {
            if !jobs::is_to_stop(tx, org, job, now - STALLED_MS, now).await? {
                return Ok(false);
            }
            let closed = jobs::force_stop(tx, org, job, now).await?;
            if let Some(closed) = &closed {
                announce(tx, closed, now).await?;
            }
            Ok(closed.is_some())
        }
        .scope_boxed()
    });
    let stopped = stopped.await?;
    if stopped {
        tracing::warn!(job = job.0, "stopped a job because it stalled or its organization is banned");
    }
    Ok(stopped)
}

#[cfg(test)]
mod tests;
