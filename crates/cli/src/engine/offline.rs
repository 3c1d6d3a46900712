//! The engine without a network.

use std::sync::Arc;

use probity_backend::nodes::verifier::Verifier;
use probity_engine::net::BoxFuture;
use probity_engine::{AddressOutcome, Engine, EngineCounters, JobAddress, LiveCall, OutcomeSink, ProbingLimits};
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

/// An engine used only for syntax and lists.
pub(crate) struct OfflineVerifier(pub Engine);

impl Verifier for OfflineVerifier {
    fn verify<'a>(&'a self, email: &'a str, _: LiveCall) -> BoxFuture<'a, Verification> {
        Box::pin(async move { self.0.facts_only(email) })
    }

    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let settled = |item: JobAddress| (item.key, AddressOutcome::Settled(self.0.facts_only(&item.email)));
            sink(items.into_iter().map(settled).collect());
        })
    }

    fn manners(&self, exchanger: &str) -> Option<ProbingLimits> {
        self.0.manners(exchanger)
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
        self.0.wait_until(at)
    }

    fn counters(&self) -> EngineCounters {
        self.0.counters()
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        self.0.close(timeout_ms)
    }
}
