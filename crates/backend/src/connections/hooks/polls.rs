//! Starts the polls that events have made due, on the node that received the events.
//!
//! The scheduler would start them too, some seconds later. A poll starts in the transaction that moves its schedule, so no slot
//! has two. If a run of the connection is in progress, this node tries again for a while.

use std::sync::Arc;
use std::time::Duration;

use probity_account::plans::Plans;
use probity_engine::clock::EngineClock;
use probity_store::Store;
use tokio_util::sync::CancellationToken;

use super::HASTE;
use super::book::{AwaitedPoll, HookBook};
use crate::connections::Platforms;
use crate::connections::scheduling::ScheduledStarts;
use crate::jobs::Wake;

/// Pause before another attempt, in milliseconds.
const AGAIN_MS: i64 = 500;
/// Time after the event in which this node tries, in milliseconds.
const TRIED_MS: i64 = HASTE.apart_ms + 5_000;

/// Starts polls until canceled.
pub struct HookedPolls {
    pub store: Store,
    pub clock: EngineClock,
    pub platforms: Platforms,
    pub plans: Arc<Plans>,
    pub book: Arc<HookBook>,
    pub wake: Arc<Wake>,
}

impl HookedPolls {
    /// Starts polls until `ending` is canceled.
    pub async fn run(self, ending: CancellationToken) {
        while !ending.is_cancelled() {
            let (due, next) = self.book.take_polls(self.clock.now());
            for poll in due {
                self.start(poll).await;
            }
            let now = self.clock.now();
            let next = next.map(|at| Duration::from_millis(u64::try_from(at.since(now)).unwrap_or(0).max(1)));
            tokio::select! {
                () = ending.cancelled() => {}
                () = self.book.bell.notified() => {}
                () = tokio::time::sleep(next.unwrap_or(Duration::MAX)), if next.is_some() => {}
            }
        }
    }

    async fn start(&self, poll: AwaitedPoll) {
        let now = self.clock.now();
        let starts = ScheduledStarts { store: &self.store, platforms: &self.platforms, plans: &self.plans };
        match starts.poll((poll.org, poll.connection), now).await {
            Ok(true) => {
                self.book.uncover(poll.connection);
                self.wake.runs.notify_one();
            }
            Ok(false) if now.since(poll.since) < TRIED_MS => {
                self.book.await_poll(AwaitedPoll { at: now + AGAIN_MS, ..poll });
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "cannot start a poll; the scheduler will"),
        }
    }
}
