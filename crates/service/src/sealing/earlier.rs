//! Seals what was stored before there was a master key, a little at a time, as a part of upkeep.
//!
//! Nothing is kept of how far it has come: a node that takes upkeep over, or is started, walks from the beginning, past what is
//! sealed.
//! It walks again each day, because a node that had no master key yet may have gone on writing without one.

use probity_mail::time::Millis;
use probity_store::sealing::earlier::{Behind, find, seal};
use probity_store::{Result, ScopedFutureExt as _, Store};

/// Bodies that are looked at, and sealed, in one transaction: each may have a thousand rows.
const BODIES: i64 = 20;
/// Such transactions in a round.
const SLICES_MAX: usize = 40;
/// How long after the end of a walk the next one begins, in milliseconds.
const AGAIN_MS: i64 = 24 * 3_600_000;

/// A walk through everything that is sealed.
#[derive(Debug)]
pub(crate) struct Walk {
    /// How far it has come; none where it is at its end.
    behind: Option<Behind>,
    /// When the next one begins.
    again_at: Millis,
    /// How many bodies it has sealed.
    sealed: u64,
}

impl Walk {
    /// One that has not begun.
    pub(crate) fn new() -> Self {
        Self { behind: None, again_at: Millis(i64::MIN), sealed: 0 }
    }

    /// Goes on for a while, where there is a master key.
    pub(crate) async fn go_on(&mut self, store: &Store, now: Millis) -> Result<()> {
        if store.sealed_by().is_none() {
            return Ok(());
        }
        if self.behind.is_none() && now >= self.again_at {
            *self = Self { behind: Some(Behind::nothing()), again_at: now + AGAIN_MS, sealed: 0 };
        }
        for _ in 0..SLICES_MAX {
            let Some(behind) = &self.behind else { return Ok(()) };
            let (found, next) = find(&mut store.read().await?, behind, BODIES).await?;
            if !found.is_empty() {
                self.sealed += store.write_bulk(|tx| seal(tx, &found).scope_boxed()).await?;
            }
            let is_over = next.is_none();
            self.behind = next;
            if is_over {
                return self.end(store).await;
            }
        }
        Ok(())
    }

    /// What was sealed still stands in SQLite's log as it was.
    async fn end(&self, store: &Store) -> Result<()> {
        if self.sealed == 0 {
            return Ok(());
        }
        tracing::info!(bodies = self.sealed, "encrypted everything that was stored before the master key");
        store.empty_log().await.map(drop)
    }
}
