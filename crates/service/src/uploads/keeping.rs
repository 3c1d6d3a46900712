//! Uploads that go: old ones, those that broke off, and those that somebody deleted.
//!
//! What is marked is seen by nobody; rows are removed in short transactions, so that nobody waits long for the writer, and
//! whichever node comes first goes on with what another left.

use probity_mail::time::Millis;
use probity_store::{Result, ScopedFutureExt as _, Store, uploads};

use crate::ops::metrics::Metrics;

/// How long a file may arrive before it counts as broken off, in milliseconds: longer than a body may take.
const ARRIVING_MS: i64 = 3_600_000;
/// Uploads that are marked in one transaction.
const AT_ONCE: i64 = 100;
/// Transactions that remove rows in one round.
const SLICES_MAX: usize = 40;

/// Everything that is due now, or a good part of it.
pub(crate) async fn round(store: &Store, metrics: &Metrics, keep_days: i64, now: Millis) -> Result<()> {
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
    // What was removed stands in SQLite's log until that is emptied. Somebody who reads puts it off to a later round.
    if removed { store.empty_log().await.map(drop) } else { Ok(()) }
}
