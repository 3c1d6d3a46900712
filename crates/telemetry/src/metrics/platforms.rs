//! Metrics of calls to email platforms.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::metrics::labels::{Label, PlatformEvent, PlatformOutcome};

type Calls = Family<[(&'static str, String); 2], Counter>;
type Waits = Family<[(&'static str, String); 1], Counter<f64, AtomicU64>>;

/// Counters by platform. Their slugs are names of connectors, which only the operator can add.
pub struct PlatformCalls {
    calls: Calls,
    waits: Waits,
    events: Calls,
}

impl PlatformCalls {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let (calls, waits, events) = (Calls::default(), Waits::default(), Calls::default());
        registry.register("probity_platform_calls", "Calls to email platforms by outcome", calls.clone());
        let waited = "Time that calls to email platforms waited for rate limits";
        registry.register("probity_platform_wait_seconds", waited, waits.clone());
        let heard = "Calls of email platforms at webhooks of connections by outcome";
        registry.register("probity_platform_events", heard, events.clone());
        Self { calls, waits, events }
    }

    /// Counts a call at a webhook. `platform` is `None` for an unknown connection.
    pub fn heard(&self, platform: Option<&str>, outcome: PlatformEvent) {
        let labels = [("platform", platform.unwrap_or("unknown").to_owned()), ("outcome", outcome.text().to_owned())];
        self.events.get_or_create_owned(&labels).inc();
    }

    /// Counts a call and the time that it waited before it was sent.
    pub fn called(&self, platform: &str, outcome: PlatformOutcome, waited: Duration) {
        let labels = [("platform", platform.to_owned()), ("outcome", outcome.text().to_owned())];
        self.calls.get_or_create_owned(&labels).inc();
        if !waited.is_zero() {
            self.waits.get_or_create_owned(&[("platform", platform.to_owned())]).inc_by(waited.as_secs_f64());
        }
    }
}
