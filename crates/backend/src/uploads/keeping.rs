//! Removal of uploads: old, incomplete and deleted ones.
//!
//! Marked uploads are hidden. Their rows are removed in short transactions, which never occupy the writer for long. Any node
//! continues what another has left.

use probity_mail::time::Millis;
use probity_store::{Result, ScopedFutureExt as _, Store, uploads};
use probity_telemetry::metrics::Metrics;

/// Time after which a file that is still arriving counts as incomplete, in milliseconds. Longer than a body may take.
const ARRIVING_MS: i64 = 3_600_000;
/// Uploads marked in one transaction.
const AT_ONCE: i64 = 100;
/// Transactions per round that remove rows.
const SLICES_MAX: usize = 40;

/// Removes uploads that are due, as far as the limits of a round allow.
pub async fn round(store: &Store, metrics: &Metrics, keep_days: i64, now: Millis) -> Result<()> {
    let broken_off = now - ARRIVING_MS;
    let marked = store.write(|tx| uploads::mark_due(tx, now, keep_days, broken_off, AT_ONCE).scope_boxed()).await?;
    let (old, broken) = marked;
    if old + broken > 0 {
        metrics.uploads_purged(old + broken);
        tracing::info!(old, broken, "removing uploads that are old or incomplete");
    }
    let mut removed = false;
    for _ in 0..SLICES_MAX {
        if !store.write_bulk(|tx| uploads::purge(tx).scope_boxed()).await? {
            break;
        }
        removed = true;
    }
    // Removed rows stay in SQLite's log until it is emptied. A reader delays that to a later round.
    if removed { store.empty_log().await.map(drop) } else { Ok(()) }
}
