//! Metrics of webhook deliveries.

use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::metrics::labels::{Delivered, LabelCounters};

/// Upper bounds in seconds for one attempt, which ends after 10 s.
const SECONDS: [f64; 9] = [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

pub struct Webhooks {
    attempts: LabelCounters<Delivered>,
    seconds: Histogram,
}

impl Webhooks {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let seconds = Histogram::new(SECONDS);
        registry.register("probity_webhook_attempt_seconds", "Duration of a webhook delivery attempt", seconds.clone());
        let attempts = LabelCounters::register(
            registry,
            "probity_webhook_attempts",
            "Webhook delivery attempts by outcome",
            "outcome",
        );
        Self { attempts, seconds }
    }

    pub fn attempted(&self, outcome: Delivered, took: Duration) {
        self.attempts.of(outcome).inc();
        self.seconds.observe(took.as_secs_f64());
    }
}
