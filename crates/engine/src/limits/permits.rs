//! Permits for the sessions of this process.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::line::{FairQueue, QueuePermit};
use crate::request::{Asker, Effort};

/// Jobs' share of all sessions: the rest is for live calls.
const BATCH_SHARE: (usize, usize) = (3, 4);
/// Divisor of all sessions: the part that may be idle.
const IDLE_SHARE: usize = 4;

/// Maximum sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLimits {
    pub(crate) all: usize,
    /// Sessions of jobs.
    pub(crate) batch: usize,
    pub(crate) idle: usize,
}

impl SessionLimits {
    fn of(sessions_max: usize) -> Self {
        let all = sessions_max.clamp(1, Semaphore::MAX_PERMITS);
        Self { all, batch: (all / BATCH_SHARE.1 * BATCH_SHARE.0).max(1), idle: (all / IDLE_SHARE).max(1) }
    }
}

pub(crate) struct SessionPermits {
    pub(crate) limits: SessionLimits,
    all: Arc<Semaphore>,
    batch: Arc<FairQueue>,
    idle: Arc<Semaphore>,
}

/// Permit for one session; released when dropped.
pub(crate) struct SessionPermit {
    _all: OwnedSemaphorePermit,
    _batch: Option<QueuePermit>,
}

impl SessionPermits {
    pub(crate) fn new(sessions_max: usize) -> Self {
        let limits = SessionLimits::of(sessions_max);
        Self {
            limits,
            all: Arc::new(Semaphore::new(limits.all)),
            batch: FairQueue::new(limits.batch),
            idle: Arc::new(Semaphore::new(limits.idle)),
        }
    }

    /// Waits for a session permit. Jobs take from their own part first, so that live calls always find room.
    pub(crate) async fn acquire(&self, asker: Asker) -> SessionPermit {
        let batch = match asker.effort {
            Effort::Batch => Some(self.batch.acquire(asker.customer).await),
            Effort::Live => None,
        };
        let all = self.all.clone().acquire_owned().await.expect("the semaphore is never closed");
        SessionPermit { _all: all, _batch: batch }
    }

    /// A permit for one more idle session, if there is room.
    pub(crate) fn idle(&self) -> Option<OwnedSemaphorePermit> {
        self.idle.clone().try_acquire_owned().ok()
    }

    /// Free permits for sessions of jobs.
    pub(crate) fn batch_free(&self) -> usize {
        self.batch.free()
    }
}
