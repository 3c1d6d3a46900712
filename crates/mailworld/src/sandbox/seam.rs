//! The sandbox as a [`Verifier`]: [`Sandbox`] implements the methods of an engine, and falls back to its own engine.

use std::sync::Arc;

use probity_engine::net::BoxFuture;
use probity_engine::verifier::Verifier;
use probity_engine::{DestinationCapacity, EngineCounters, ForgetRequest, JobAddress, LiveCall, OutcomeSink};
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

use super::Sandbox;

impl Verifier for Sandbox {
    fn verify<'a>(&'a self, email: &'a str, live: LiveCall) -> BoxFuture<'a, Verification> {
        Box::pin(Sandbox::verify(self, email, live))
    }

    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()> {
        Box::pin(Sandbox::verify_many(self, items, sink))
    }

    fn room(&self, destination: &str, source: Option<&str>) -> DestinationCapacity {
        self.lists().room(destination, source)
    }

    fn forget(&self, scope: u64, which: &ForgetRequest) {
        self.engine().forget(scope, which);
        self.lists().forget(scope, which);
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        self.engine().source_names()
    }

    fn now(&self) -> Millis {
        self.engine().now()
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.engine().wait_until(at))
    }

    fn counters(&self) -> EngineCounters {
        sum(self.engine().counters(), self.lists().counters())
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            tokio::join!(self.engine().close(timeout_ms), self.lists().close(timeout_ms));
        })
    }
}

/// Sum of two engines' counters.
fn sum(one: EngineCounters, other: EngineCounters) -> EngineCounters {
    EngineCounters {
        connections: one.connections + other.connections,
        connect_failures: one.connect_failures + other.connect_failures,
        rcpts: one.rcpts + other.rcpts,
        random_rcpts: one.random_rcpts + other.random_rcpts,
        waits: one.waits + other.waits,
        queries: one.queries + other.queries,
        queries_cached: one.queries_cached + other.queries_cached,
        unmatched: one.unmatched + other.unmatched,
        tls_downgrades: one.tls_downgrades + other.tls_downgrades,
        sessions_open: one.sessions_open + other.sessions_open,
    }
}
