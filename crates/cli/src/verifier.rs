//! The engine as the commands see it: the seam at which tests put something else.
//!
//! [`Verifier`] is what `verify` and `batch` need of an engine and no more. The real one is [`Engine`]; the sandbox adds outcomes that
//! need a customer's data; tests of the batch's machinery (resuming, ordering, put-off rows) bring one that answers by rule.

use probity_core::time::Millis;
use probity_core::verdict::Verification;
use probity_engine::net::BoxFuture;
use probity_engine::{Counters, Engine, Item, Live, Outcome, Sink};

/// Something that answers about addresses. The methods are those of [`Engine`].
pub(crate) trait Verifier: Send + Sync + 'static {
    /// The verdict about one address within its deadline.
    fn verify<'a>(&'a self, email: &'a str, live: Live) -> BoxFuture<'a, Verification>;
    /// Verdicts about many; each key reaches the sink exactly once.
    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()>;
    /// The clock.
    fn now(&self) -> Millis;
    /// Waits until a point in time.
    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()>;
    /// What has been done so far.
    fn counters(&self) -> Counters;
    /// Ends idle sessions.
    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()>;
}

impl Verifier for Engine {
    fn verify<'a>(&'a self, email: &'a str, live: Live) -> BoxFuture<'a, Verification> {
        Box::pin(Engine::verify(self, email, live))
    }

    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()> {
        Box::pin(Engine::verify_many(self, items, sink))
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

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(Engine::close(self, timeout_ms))
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
