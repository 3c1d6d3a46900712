//! Work in progress: bounded, and ended together.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::line::{FairQueue, QueuePermit};

/// Maximum probes that continue after the verdict was returned.
pub(crate) const BACKGROUND_MAX: usize = 1_000;

pub(crate) struct BackgroundWork {
    /// Domains that jobs are working on.
    domains: Arc<FairQueue>,
    pub(crate) domains_max: usize,
    /// Probes that continue after the verdict was returned.
    background: Arc<Semaphore>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl BackgroundWork {
    pub(crate) fn new(domains_max: usize) -> Self {
        let domains_max = domains_max.max(1);
        Self {
            domains: FairQueue::new(domains_max),
            domains_max,
            background: Arc::new(Semaphore::new(BACKGROUND_MAX)),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(task)
    }

    /// Waits for a permit to work on a domain of a job.
    pub(crate) async fn domain(&self, customer: u64) -> QueuePermit {
        self.domains.acquire(customer).await
    }

    pub(crate) fn domains_free(&self) -> usize {
        self.domains.free()
    }

    /// A permit for a probe in the background, if there is room.
    pub(crate) fn background(&self) -> Option<OwnedSemaphorePermit> {
        self.background.clone().try_acquire_owned().ok()
    }

    pub(crate) fn background_free(&self) -> usize {
        self.background.available_permits()
    }

    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Ends what only waits, and waits for the rest, at most `timeout_ms`.
    pub(crate) async fn close(&self, timeout_ms: u64) {
        self.closing.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(Duration::from_millis(timeout_ms), self.tasks.wait()).await;
    }
}
