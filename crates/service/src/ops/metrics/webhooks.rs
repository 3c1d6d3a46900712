//! Messages to customers' servers.

use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::ops::metrics::labels::{Counters, Delivered};

/// Upper bounds in seconds for one attempt, which ends after ten.
const SECONDS: [f64; 9] = [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Messages to customers' servers.
pub struct Webhooks {
    attempts: Counters<Delivered>,
    seconds: Histogram,
}

impl Webhooks {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let seconds = Histogram::new(SECONDS);
        registry.register(
            "probity_webhook_attempt_seconds",
            "How long an attempt to deliver a message took",
            seconds.clone(),
        );
        let attempts = Counters::register(
            registry,
            "probity_webhook_attempts",
            "Attempts to deliver a message by what they came to",
            "outcome",
        );
        Self { attempts, seconds }
    }

    /// An attempt ended.
    pub fn attempted(&self, outcome: Delivered, took: Duration) {
        self.attempts.of(outcome).inc();
        self.seconds.observe(took.as_secs_f64());
    }
}
