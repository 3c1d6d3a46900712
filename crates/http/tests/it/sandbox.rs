//! Verifier of test keys in tests of the service: mailworld's sandbox.

use std::sync::Arc;

use probity_backend::nodes::verifier::Verifier;
use probity_engine::{EngineConfig, LiveCall};
use probity_mailworld::sandbox::Sandbox;

/// Returns the sandbox that a service uses for test keys.
pub(crate) fn verifier() -> Arc<dyn Verifier> {
    Arc::new(Sandbox::new(&EngineConfig::default()).expect("the default configuration is right"))
}

#[tokio::test]
async fn a_service_can_be_given_the_sandbox() {
    let verifier = verifier();
    let live = LiveCall { timeout_ms: 20_000, scope: 1 };
    let began = verifier.now();
    for (email, reason) in [("inbox_full@sandbox.test", "inbox_full"), ("greta.lee@acme-widgets.com", "nonexistent")] {
        assert_eq!(verifier.verify(email, live).await.verdict.reason.as_str(), reason);
    }
    assert!(verifier.now() >= began);
    assert!(verifier.counters().rcpts > 0, "a simulated server was asked");
    verifier.close(1_000).await;
}
