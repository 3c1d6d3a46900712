//! Who answers about addresses: the seam between what verifies and whoever wants it done.
//!
//! [`Verifier`] is what a service and its commands need of an engine and no more. The real one is [`Engine`]; the sandbox is one of
//! simulated outcomes, and tests of the machinery around it bring one that answers by rule. It stands here, below all of them, so
//! that each can be a `Verifier` itself. No method fails: what keeps an answer away is an `unknown` with its reason.

use std::sync::Arc;

use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

use crate::net::BoxFuture;
use crate::snapshot::Snapshot;
use crate::{Counters, Engine, Forgotten, Item, Live, Manners, Room, Sink};

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
    /// Forgets what it keeps of addresses for one customer.
    fn forget(&self, _scope: u64, _which: &Forgotten) {}
    /// How this exchanger would be asked; none where nobody is asked over a network.
    fn manners(&self, _exchanger: &str) -> Option<Manners> {
        None
    }
    /// For how long servers may put an address of a batch off, in milliseconds.
    fn patience_ms(&self) -> i64 {
        0
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
