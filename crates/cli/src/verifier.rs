//! The engine without a network.

use std::sync::Arc;

use probity_engine::net::BoxFuture;
use probity_engine::{Counters, Engine, Item, Live, Manners, Outcome, Sink};
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;
use probity_service::verifier::Verifier;

/// An engine used only for syntax and lists.
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

    fn manners(&self, exchanger: &str) -> Option<Manners> {
        Some(self.0.manners(exchanger))
    }

    fn patience_ms(&self) -> i64 {
        self.0.patience_ms()
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
