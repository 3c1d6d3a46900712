//! The verifier of test keys for tests of the service: mailworld's sandbox behind the service's trait.

use std::sync::Arc;

use probity_core::time::Millis;
use probity_core::verdict::Verification;
use probity_engine::net::BoxFuture;
use probity_engine::{Counters, EngineConfig, Item, Live, Room, Sink};
use probity_mailworld::sandbox::Sandbox;
use probity_server::verifier::Verifier;

/// The sandbox. A type of its own, because neither it nor the trait is of this crate.
struct Simulated(Sandbox);

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

/// The sandbox as a service is given it for test keys.
pub(crate) fn verifier() -> Arc<dyn Verifier> {
    Arc::new(Simulated(Sandbox::new(&EngineConfig::default()).expect("the default configuration is right")))
}

#[tokio::test]
async fn a_service_can_be_given_the_sandbox() {
    let verifier = verifier();
    let live = Live { timeout_ms: 20_000, scope: 1 };
    let began = verifier.now();
    for (email, reason) in [("inbox_full@sandbox.test", "inbox_full"), ("greta.lee@acme-widgets.com", "nonexistent")] {
        assert_eq!(verifier.verify(email, live).await.verdict.reason.as_str(), reason);
    }
    assert!(verifier.now() >= began);
    assert!(verifier.counters().rcpts > 0, "a simulated server was asked");
    verifier.close(1_000).await;
}
