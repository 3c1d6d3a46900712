//! The seam between verification and its callers.
//!
//! [`Verifier`] is what a service and its commands need of an engine. The real one is [`Engine`]; the sandbox verifies with
//! simulated outcomes, and tests of the surrounding code use a rule-based one. It is defined here, below all of them, so that each
//! can implement it. No method fails: a verdict that cannot be obtained is `unknown` with its reason.

use std::sync::Arc;

use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

use crate::net::BoxFuture;
use crate::snapshot::Snapshot;
use crate::{Counters, Engine, Forgotten, Item, Live, Manners, Room, Sink};

/// Verifies addresses. The methods are those of [`Engine`].
pub trait Verifier: Send + Sync + 'static {
    /// Verifies one address, within `live.timeout_ms`.
    fn verify<'a>(&'a self, email: &'a str, live: Live) -> BoxFuture<'a, Verification>;
    /// Verifies many addresses; each key reaches the sink exactly once.
    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()>;
    /// Capacity of a destination in the near future.
    fn room(&self, _destination: &str, _source: Option<&str>) -> Room {
        Room::Now(u32::MAX)
    }
    /// Forgets addresses of one customer.
    fn forget(&self, _scope: u64, _which: &Forgotten) {}
    /// Probing limits of this MX host; `None` if there is no network.
    fn manners(&self, _exchanger: &str) -> Option<Manners> {
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
    fn counters(&self) -> Counters;
    /// State of the engine that probes real servers; `None` if there is no such engine.
    fn snapshot(&self) -> Option<Snapshot> {
        None
    }
    /// Ends idle sessions and waits for work in progress, at most `timeout_ms`.
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

    fn forget(&self, scope: u64, which: &Forgotten) {
        Engine::forget(self, scope, which);
    }

    fn manners(&self, exchanger: &str) -> Option<Manners> {
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
