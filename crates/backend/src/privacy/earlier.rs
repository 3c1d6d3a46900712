//! Encrypts bodies stored before there was a master key, a few at a time, as part of maintenance.
//!
//! The position is not stored. A node that takes over maintenance, or restarts, walks from the beginning and skips encrypted
//! bodies. The walk is repeated every day, because a node without the master key may have continued to write.

use probity_mail::time::Millis;
use probity_store::privacy::sealing;
use probity_store::privacy::sealing::earlier::{SealingProgress, find, seal};
use probity_store::{Result, ScopedFutureExt as _, Store};

/// Bodies that are read and encrypted in one transaction. Each may have 1,000 rows.
const BODIES: i64 = 20;
/// Transactions per round.
const SLICES_MAX: usize = 40;
/// Time from the start of a walk to the start of the next one, in milliseconds.
const AGAIN_MS: i64 = 24 * 3_600_000;

/// Walk through all bodies that must be encrypted.
#[derive(Debug)]
pub struct Walk {
    /// Position; `None` between two walks.
    behind: Option<SealingProgress>,
    /// Time at which the next walk may start.
    again_at: Millis,
    /// Number of bodies that this walk has encrypted.
    sealed: u64,
}

/// A walk that has not started.
impl Default for Walk {
    fn default() -> Self {
        Self { behind: None, again_at: Millis(i64::MIN), sealed: 0 }
    }
}

impl Walk {
    /// Continues the walk for one round, if there is a master key.
    pub async fn go_on(&mut self, store: &Store, now: Millis) -> Result<()> {
        if sealing::sealed_by(store).is_none() {
            return Ok(());
        }
        if self.behind.is_none() && now >= self.again_at {
            *self = Self { behind: Some(SealingProgress::nothing()), again_at: now + AGAIN_MS, sealed: 0 };
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

    /// Empties SQLite's write-ahead log, which still contains the unencrypted bodies.
    async fn end(&self, store: &Store) -> Result<()> {
        if self.sealed == 0 {
            return Ok(());
        }
        tracing::info!(bodies = self.sealed, "encrypted everything that was stored before the master key");
        store.empty_log().await.map(drop)
    }
}
