//! Tells whether a server or one of our own limits delays a live call at its deadline.
//!
//! The call does not see its probe's progress. So waits for our own limits are marked while they last ([`wait`]), for the waiting
//! task; an unwatched task marks nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longest wait for a limit on the spot, in milliseconds; beyond it, work is deferred.
pub(crate) const WAIT_MS: i64 = 3_000;

tokio::task_local! {
    static WATCHED: LimitWaits;
}

/// Number of our own limits that a task waits for: it may do several things at once, each of which may wait.
#[derive(Clone, Default)]
pub(crate) struct LimitWaits(Arc<AtomicUsize>);

impl LimitWaits {
    /// Runs the work and watches its waits.
    pub(crate) async fn watch<T>(self, work: impl Future<Output = T>) -> T {
        WATCHED.scope(self, work).await
    }

    /// Whether it is waiting for one now.
    pub(crate) fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Waits for one of our own limits.
pub(crate) async fn wait<T>(limit: impl Future<Output = T>) -> T {
    let _marked = MarkedWait::new();
    limit.await
}

/// Marks the wait until it is dropped; `None` if nobody watches.
struct MarkedWait(Option<LimitWaits>);

impl MarkedWait {
    fn new() -> Self {
        let watched = WATCHED.try_with(LimitWaits::clone).ok();
        if let Some(LimitWaits(waits)) = &watched {
            waits.fetch_add(1, Ordering::Relaxed);
        }
        Self(watched)
    }
}

impl Drop for MarkedWait {
    fn drop(&mut self) {
        if let Some(LimitWaits(waits)) = &self.0 {
            waits.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join;
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn a_task_is_held_until_the_last_of_its_waits_is_over() {
        let held = LimitWaits::default();
        let (first, one) = oneshot::channel::<()>();
        let (last, other) = oneshot::channel::<()>();
        let mut work = Box::pin(held.clone().watch(join(wait(one), wait(other))));
        assert!(!held.is_so());
        assert!((&mut work).now_or_never().is_none() && held.is_so());
        first.send(()).expect("somebody waits");
        assert!((&mut work).now_or_never().is_none() && held.is_so(), "the other one still waits");
        last.send(()).expect("somebody waits");
        assert!(work.now_or_never().is_some() && !held.is_so());
    }

    #[test]
    fn a_wait_that_is_given_up_holds_nobody() {
        let held = LimitWaits::default();
        let mut work = Box::pin(held.clone().watch(wait(std::future::pending::<()>())));
        assert!((&mut work).now_or_never().is_none() && held.is_so());
        drop(work);
        assert!(!held.is_so());
    }
}
