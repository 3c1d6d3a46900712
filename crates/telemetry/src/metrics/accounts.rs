//! Metrics of credits, keys, limits and idempotency.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::metrics::labels::{AuthFailure, CreditMove, Idempotent, LabelCounters, LimitedBy};

/// Upper bounds of the histogram of calls per ledger window.
const CALLS: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0];
/// Upper bounds of the histogram of window writes, in seconds.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

pub struct Accounts {
    credits: LabelCounters<CreditMove>,
    window_calls: Histogram,
    window_seconds: Histogram,
    window_failures: Counter,
    idempotency: LabelCounters<Idempotent>,
    limited: LabelCounters<LimitedBy>,
    auth_failures: LabelCounters<AuthFailure>,
    passwords_hashed: Counter,
}

impl Accounts {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let [window_calls, window_seconds] = [CALLS, SECONDS].map(Histogram::new);
        let [window_failures, passwords_hashed] = std::array::from_fn(|_| Counter::default());
        registry.register("probity_ledger_window_calls", "Live calls in one ledger write", window_calls.clone());
        registry.register("probity_ledger_window_seconds", "Duration of a ledger write", window_seconds.clone());
        registry.register(
            "probity_ledger_window_failures",
            "Ledger writes that failed or whose outcome is unknown",
            window_failures.clone(),
        );
        registry.register("probity_passwords_hashed", "Passwords hashed", passwords_hashed.clone());
        Self {
            credits: LabelCounters::register(registry, "probity_credits", "Credits of live calls by outcome", "move"),
            window_calls,
            window_seconds,
            window_failures,
            idempotency: LabelCounters::register(
                registry,
                "probity_idempotent_requests",
                "Requests with an Idempotency-Key by outcome",
                "outcome",
            ),
            limited: LabelCounters::register(
                registry,
                "probity_rate_limited",
                "Requests over a rate limit (429)",
                "limit",
            ),
            auth_failures: LabelCounters::register(
                registry,
                "probity_auth_failures",
                "Requests rejected for their credentials or permissions (401, 403)",
                "why",
            ),
            passwords_hashed,
        }
    }

    /// Returns the counter of hashed passwords.
    pub fn passwords_hashed(&self) -> Counter {
        self.passwords_hashed.clone()
    }

    pub fn credits(&self, moved: CreditMove, credits: u64) {
        self.credits.of(moved).inc_by(credits);
    }

    /// Records a ledger window with `calls` calls that was written or failed.
    pub fn window(&self, calls: u32, took: Duration, written: bool) {
        self.window_calls.observe(f64::from(calls));
        self.window_seconds.observe(took.as_secs_f64());
        if !written {
            self.window_failures.inc();
        }
    }

    /// Counts a request with an Idempotency-Key by its outcome.
    pub fn idempotent(&self, outcome: Idempotent) {
        self.idempotency.of(outcome).inc();
    }

    pub fn limited(&self, by: LimitedBy) {
        self.limited.of(by).inc();
    }

    /// Counts a request refused with 401 or 403.
    pub fn auth_failed(&self, why: AuthFailure) {
        self.auth_failures.of(why).inc();
    }
}
