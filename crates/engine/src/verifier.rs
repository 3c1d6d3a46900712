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

/// Verifies addresses. The methods are those of [`Engine`].
pub trait Verifier: Send + Sync + 'static {
    /// Verifies one address, within `live.timeout_ms`.
    fn verify<'a>(&'a self, email: &'a str, live: LiveCall) -> BoxFuture<'a, Verification>;
    /// Verifies many addresses; each key reaches the sink exactly once.
    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()>;
    /// Capacity of a destination in the near future.
    fn room(&self, _destination: &str, _source: Option<&str>) -> DestinationCapacity {
        DestinationCapacity::Now(u32::MAX)
    }
    /// Forgets addresses of one customer.
    fn forget(&self, _scope: u64, _which: &ForgetRequest) {}
    /// Probing limits of this MX host; `None` if there is no network.
    fn manners(&self, _exchanger: &str) -> Option<ProbingLimits> {
        None
    }
    /// Time for which servers may defer an address of a job, in milliseconds.
    fn patience_ms(&self) -> i64 {
        0
    }
    /// Names of its sources: an address greylisted from one is retried from there.
    fn source_names(&self) -> Vec<Arc<str>>;
    fn now(&self) -> Millis;
    /// Waits until a time.
    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()>;
    fn counters(&self) -> EngineCounters;
    /// State of the engine that probes real servers; `None` if there is no such engine.
    fn snapshot(&self) -> Option<EngineSnapshot> {
        None
    }
    /// Ends idle sessions and waits for work in progress, at most `timeout_ms`.
    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()>;
}

impl Verifier for Engine {
    fn verify<'a>(&'a self, email: &'a str, live: LiveCall) -> BoxFuture<'a, Verification> {
        Box::pin(Engine::verify(self, email, live))
    }

    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()> {
        Box::pin(Engine::verify_many(self, items, sink))
    }

    fn room(&self, destination: &str, source: Option<&str>) -> DestinationCapacity {
        Engine::room(self, destination, source)
    }

    fn forget(&self, scope: u64, which: &ForgetRequest) {
        Engine::forget(self, scope, which);
    }

    fn manners(&self, exchanger: &str) -> Option<ProbingLimits> {
        Some(Engine::manners(self, exchanger))
    }

    fn patience_ms(&self) -> i64 {
        Engine::patience_ms(self)
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        Engine::source_names(self)
    }

    fn now(&self) -> Millis {
        Engine::now(self)
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(Engine::wait_until(self, at))
    }

    fn counters(&self) -> EngineCounters {
        Engine::counters(self)
    }

    fn snapshot(&self) -> Option<EngineSnapshot> {
        Some(Engine::snapshot(self))
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(Engine::close(self, timeout_ms))
    }
}
