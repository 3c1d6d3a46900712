//! Staged jobs: their rows are being received, and no caller sees them yet.
//!
//! Rows are stored in blocks, in short transactions. One short transaction accepts the job; any earlier failure discards
//! the blocks. Maintenance removes the blocks of clients that disconnected.

use probity_account::block::PackedBlock;
use probity_contract::error::{ApiError, Code};
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, work};

use crate::app::{App, plans};

/// Blocks per transaction, few enough to keep it short.
pub(crate) const BLOCKS_MAX: usize = 20;
/// Delay before a retry while addresses are erased, in seconds.
const ERASING_S: u32 = 5;

#[derive(Clone)]
pub struct StagedJob {
    pub(crate) new: NewJob,
    no: JobNo,
}

impl StagedJob {
    pub(crate) async fn begin(app: &App, new: NewJob) -> Result<Self, ApiError> {
        let no = app.store.write(|tx| jobs::begin(tx, &new).scope_boxed()).await?;
        Ok(Self { new, no })
    }

    /// Stores full blocks whose first row has index `first`, and returns the index of the next row.
    pub(crate) async fn keep(&self, app: &App, first: i64, full: &mut Vec<PackedBlock>) -> Result<i64, StoreError> {
        let mut next = first;
        for blocks in full.chunks(BLOCKS_MAX) {
            let kept = app.store.write_bulk(work!(|tx| {
                let mut idx = next;
                for block in blocks {
                    jobs::add_block(tx, self.new.org, self.no, idx, &block.bytes).await?;
                    idx += i64::try_from(block.rows).unwrap_or(i64::MAX);
                }
                Ok(idx)
            }));
            next = kept.await?;
        }
        full.clear();
        Ok(next)
    }

    /// Announces a job that was accepted, and discards any other.
    pub(crate) async fn settled<T>(&self, app: &App, accepted: Result<T, ApiError>) -> Result<T, ApiError> {
        match accepted {
            Ok(_) => app.wake.import.notify_one(),
            Err(_) => self.discard(app).await,
        }
        accepted
    }

    /// Discards a job that was not accepted; an accepted job stays. If this fails, maintenance removes the rows later.
    pub async fn discard(&self, app: &App) {
        let now = app.now();
        let discarded = app.store.write_bulk(|tx| jobs::discard(tx, self.new.org, self.no, now).scope_boxed()).await;
        if let Err(error) = discarded {
            tracing::warn!(%error, "cannot discard a submission; it is removed later");
        }
    }
}

/// Returns the error while addresses of `what` are erased, which a copy may have missed.
pub(crate) fn erasing(what: &str) -> ApiError {
    let message = format!("an erasure is removing addresses from this {what}; try again in a moment");
    ApiError::new(Code::ServiceUnavailable, message).retry_after(ERASING_S)
}

/// Accepts a job. If credits are missing and the plan refills them, retries once.
pub(crate) async fn accept_covered<T, F: Future<Output = Result<T, StoreError>>>(
    app: &App,
    org: OrgNo,
    accept: impl Fn() -> F,
) -> Result<T, ApiError> {
    match accept().await {
        Err(StoreError::InsufficientCredits { needed, .. }) if plans::cover(app, org, needed).await? => {
            Ok(accept().await?)
        }
        accepted => Ok(accepted?),
    }
}
