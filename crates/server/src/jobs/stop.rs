//! Jobs that the system stops: those that stand still for too long, and those of organizations that were stopped.

use probity_core::time::Millis;
use probity_store::{Result, ScopedFutureExt as _, Store, jobs};

use super::announce;

/// How long a job may stand still, in milliseconds: longer than the longest wait of an address, also that of an organization
/// that is paused.
const STALLED_MS: i64 = 7 * 24 * 3_600_000;
/// Jobs that are stopped in one round.
const AT_MOST: i64 = 100;

/// Stops jobs that have not come on for a week, and those of organizations that were banned.
pub(crate) async fn stop_jobs(store: &Store, now: Millis) -> Result<()> {
    let mut conn = store.read().await?;
    let mut stopped = jobs::stalled(&mut conn, now - STALLED_MS, AT_MOST).await?;
    stopped.extend(jobs::of_banned(&mut conn, AT_MOST).await?);
    drop(conn);
    for (org, job) in stopped {
        let stopped = store.write(|tx| {
            async {
                if let Some(closed) = jobs::force_stop(tx, org, job, now).await? {
                    announce(tx, &closed, now).await?;
                }
                Ok(())
            }
            .scope_boxed()
        });
        stopped.await?;
        tracing::warn!(job = job.0, "a job was stopped: it stood still for too long, or its account was banned");
    }
    Ok(())
}
