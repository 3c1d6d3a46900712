//! The seam between verification and its callers.
//!
//! [`Verifier`] is what a service and its commands need of an engine. The real one is [`Engine`]; the sandbox verifies with
//! simulated outcomes, and tests of the surrounding code use a rule-based one. It is defined here, below all of them, so that each
//! can implement it. No method fails: a verdict that cannot be obtained is `unknown` with its reason.

mod answer;
pub(crate) mod live;
pub(crate) mod many;

use std::sync::Arc;

use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

use crate::net::BoxFuture;
use crate::snapshot::EngineSnapshot;
use crate::{
    DestinationCapacity, Engine, EngineCounters, ForgetRequest, JobAddress, LiveCall, OutcomeSink, ProbingLimits,
};

/// Maximum time of a probe beyond its patience, in milliseconds.
const LATE_MS: i64 = 120_000;

/// Verifies addresses.
pub trait Verifier: Send + Sync + 'static {
    /// Verifies one address, within `live.timeout_ms`. A probe cut off by the deadline, or deferred by greylisting, continues in
    /// the background and fills the cache.
    fn verify<'a>(&'a self, email: &'a str, live: LiveCall) -> BoxFuture<'a, Verification>;
    /// Verifies many addresses. They are grouped by domain within one call; `sink` receives groups of outcomes as they are ready,
    /// each key exactly once. Returns when every item has its outcome.
    ///
    /// Pass up to some thousands of items per call, sorted by domain; many calls may run at once, because the engine bounds the
    /// work in flight.
    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()>;
    /// Capacity of a destination in the near future, from memory: `@example.org` is a domain, anything else the name of a site
    /// whose limits throttled addresses ([`Throttled::at`](crate::Throttled::at)). With `source`, only that source counts. It
    /// neither probes nor books anything, and is cheap enough to call before each chunk.
    fn room(&self, _destination: &str, _source: Option<&str>) -> DestinationCapacity {
        DestinationCapacity::Now(u32::MAX)
    }
    /// Forgets addresses of one customer ([`LiveCall::scope`]), and keeps no results about them from probes in progress.
    fn forget(&self, _scope: u64, _which: &ForgetRequest) {}
    /// Probing limits of this MX host; `None` if there is no network. It neither probes nor books anything.
    fn manners(&self, _exchanger: &str) -> Option<ProbingLimits> {
        None
    }
    /// Time for which servers may defer an address of a job, in milliseconds.
    fn patience_ms(&self) -> i64 {
        0
    }
    /// Names of its sources: an address greylisted from one is retried from there.
    fn source_names(&self) -> Vec<Arc<str>>;
    /// Its clock: milliseconds since the Unix epoch.
    fn now(&self) -> Millis;
    /// Waits until a time of its clock.
    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()>;
    fn counters(&self) -> EngineCounters;
    /// Current load, throttling and unknown replies of the engine that probes real servers; `None` if there is no such engine.
    /// Cheap enough for every scrape of metrics.
    fn snapshot(&self) -> Option<EngineSnapshot> {
        None
    }
    /// Ends idle sessions with QUIT and waits for work in progress, at most `timeout_ms`. Background probes that wait for their
    /// time are dropped.
    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()>;
}

impl Verifier for Engine {
    fn verify<'a>(&'a self, email: &'a str, live: LiveCall) -> BoxFuture<'a, Verification> {
        Box::pin(live::verify(&self.parts, email, live))
    }

    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()> {
        Box::pin(many::verify_many(&self.parts, items, sink))
    }

    fn room(&self, destination: &str, source: Option<&str>) -> DestinationCapacity {
        self.parts.pacing.room(destination, source, self.now())
    }

    fn forget(&self, scope: u64, which: &ForgetRequest) {
        let now = self.now();
        // The longest probe: one deferred by greylisting continues for as long as patience lasts.
        let until = now + self.parts.config.patience_ms + LATE_MS;
        self.parts.knowledge.verdicts.forget(scope, which, now, until);
    }

    fn manners(&self, exchanger: &str) -> Option<ProbingLimits> {
        let policy = self.parts.knowledge.policy(exchanger);
        Some(ProbingLimits { policy, warmths: self.parts.sources.warmths(self.now()) })
    }

    fn patience_ms(&self) -> i64 {
        self.parts.config.patience_ms
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        self.parts.sources.all().iter().map(|source| source.name()).collect()
    }

    fn now(&self) -> Millis {
        self.parts.clock.now()
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.parts.clock.wait_until(at))
    }

    fn counters(&self) -> EngineCounters {
        self.parts.counters()
    }

    fn snapshot(&self) -> Option<EngineSnapshot> {
        Some(EngineSnapshot::of(&self.parts))
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(self.parts.work.close(timeout_ms))
    }
}
