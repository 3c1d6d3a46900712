//! Who answers about addresses: the seam between the service and what verifies.
//!
//! [`Verifier`] is what the service and the commands need of an engine and no more. The real one is [`Engine`]; test keys are
//! given one of simulated outcomes, and tests of the machinery around it bring one that answers by rule. A service has two,
//! for live keys and for test keys, and they share nothing: neither caches nor facts nor pacing.

use std::sync::Arc;

use probity_core::time::Millis;
use probity_core::verdict::Verification;
use probity_engine::net::BoxFuture;
use probity_engine::snapshot::Snapshot;
use probity_engine::{Counters, Engine, Item, Live, Room, Sink};

/// Something that answers about addresses. The methods are those of [`Engine`].
pub trait Verifier: Send + Sync + 'static {
    /// The verdict about one address, at the latest when `live.timeout_ms` is over.
    fn verify<'a>(&'a self, email: &'a str, live: Live) -> BoxFuture<'a, Verification>;
    /// Verdicts about many; each key reaches the sink exactly once.
    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()>;
    /// How much can be asked of a destination soon.
    fn room(&self, _destination: &str, _source: Option<&str>) -> Room {
        Room::Now(u32::MAX)
    }
    /// The names of the sources that it asks from: what was greylisted from one of them is asked again from there.
    fn source_names(&self) -> Vec<Arc<str>>;
    /// The clock.
    fn now(&self) -> Millis;
    /// Waits until a point in time.
    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()>;
    /// What has been done so far.
    fn counters(&self) -> Counters;
    /// The state of the engine that asks real servers; none where there is no such engine.
    fn snapshot(&self) -> Option<Snapshot> {
        None
    }
    /// Ends idle sessions and waits for what is under way, at most `timeout_ms`.
    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()>;
}

impl Verifier for Engine {
    fn verify<'a>(&'a self, email: &'a str, live: Live) -> BoxFuture<'a, Verification> {
        Box::pin(Engine::verify(self, email, live))
    }

    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()> {
        Box::pin(Engine::verify_many(self, items, sink))
    }

    fn room(&self, destination: &str, source: Option<&str>) -> Room {
        Engine::room(self, destination, source)
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

    fn counters(&self) -> Counters {
        Engine::counters(self)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        Some(Engine::snapshot(self))
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(Engine::close(self, timeout_ms))
    }
}
