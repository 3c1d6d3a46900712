//! Who answers the commands besides the engine itself: the engine without a network, and the sandbox.

use std::sync::Arc;

use probity_core::time::Millis;
use probity_core::verdict::Verification;
use probity_engine::net::BoxFuture;
use probity_engine::{Counters, Engine, Item, Live, Outcome, Room, Sink};
use probity_mailworld::sandbox::Sandbox;
use probity_server::verifier::Verifier;

/// The sandbox. A type of its own, because neither it nor the trait is of this crate.
pub(crate) struct Simulated(pub Sandbox);

impl Verifier for Simulated {
    fn verify<'a>(&'a self, email: &'a str, live: Live) -> BoxFuture<'a, Verification> {
        Box::pin(self.0.verify(email, live))
    }

    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()> {
        Box::pin(self.0.verify_many(items, sink))
    }

    fn room(&self, destination: &str, source: Option<&str>) -> Room {
        self.0.engine().room(destination, source)
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        self.0.engine().source_names()
    }

    fn now(&self) -> Millis {
        self.0.engine().now()
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.0.engine().wait_until(at))
    }

    fn counters(&self) -> Counters {
        self.0.engine().counters()
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(self.0.engine().close(timeout_ms))
    }
}

/// An engine of which only syntax and lists are asked.
pub(crate) struct Offline(pub Engine);

impl Verifier for Offline {
    fn verify<'a>(&'a self, email: &'a str, _: Live) -> BoxFuture<'a, Verification> {
        Box::pin(async move { self.0.facts_only(email) })
    }

    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let settled = |item: Item| (item.key, Outcome::Settled(self.0.facts_only(&item.email)));
            sink(items.into_iter().map(settled).collect());
        })
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    fn now(&self) -> Millis {
        self.0.now()
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.0.wait_until(at))
    }

    fn counters(&self) -> Counters {
        self.0.counters()
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(self.0.close(timeout_ms))
    }
}
