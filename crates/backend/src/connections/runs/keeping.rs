//! Maintenance of runs: cancels runs of banned organizations, completes ends, and removes runs and statuses that are old.

use probity_mail::time::Millis;
use probity_store::connections::{changes, runs};
use probity_store::{Result, ScopedFutureExt as _, Store, work};

use super::parts::{drop_in_parts, forget_in_parts};
use crate::jobs::announce;
use crate::webhooks::Callbacks;

/// Retention of an ended run, in milliseconds: that of its job, and longer than the brake counts runs together.
const RUN_KEPT_MS: i64 = 400 * 86_400_000;
/// Time in which runs whose end is incomplete are looked for, in milliseconds.
const ENDED_MS: i64 = 86_400_000;
/// Runs of each kind handled at a time.
const AT_MOST: i64 = 100;
/// Statuses of addresses removed at a time. They are kept as long as runs.
const STATUSES: i64 = 1_000;

/// Performs all due maintenance.
pub async fn round(store: &Store, callbacks: &Callbacks, now: Millis) -> Result<()> {
    let banned = runs::of_banned(&mut store.read().await?, AT_MOST).await?;
    for place in banned {
        forget_in_parts(store, &runs::by_id(&mut store.read().await?, place.0, place.1, place.2).await?).await?;
        let cancelled = store.write_bulk(work!(|tx| {
            let closed = runs::cancel(tx, place, now).await?.and_then(|end| end.closed);
            if let Some(closed) = &closed {
                announce(tx, closed, now).await?;
            }
            Ok(closed.is_some())
        }));
        if cancelled.await? {
            callbacks.wake();
        }
    }
    let half_ended = runs::half_ended(&mut store.read().await?, now - ENDED_MS, AT_MOST).await?;
    for (org, connection, id) in half_ended {
        let run = runs::by_id(&mut store.read().await?, org, connection, id).await?;
        drop_in_parts(store, &run, now).await?;
    }
    let before = now - RUN_KEPT_MS;
    if runs::any_old(&mut store.read().await?, before).await? {
        store.write(|tx| runs::forget(tx, before, AT_MOST).scope_boxed()).await?;
    }
    if changes::any_old(&mut store.read().await?, before).await? {
        store.write(|tx| changes::forget(tx, before, STATUSES).scope_boxed()).await?;
    }
    Ok(())
}
