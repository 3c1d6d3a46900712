//! Credits, keys, limits and idempotency.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::ops::metrics::labels::{AuthFailure, Counters, CreditMove, Idempotent, LimitedBy};

/// Upper bounds for the calls of one window of the ledger.
const CALLS: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0];
/// Upper bounds in seconds for writing one.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Credits, keys, limits and idempotency.
pub struct Accounts {
    credits: Counters<CreditMove>,
    window_calls: Histogram,
    window_seconds: Histogram,
    window_failures: Counter,
    idempotency: Counters<Idempotent>,
    limited: Counters<LimitedBy>,
    auth_failures: Counters<AuthFailure>,
    passwords_hashed: Counter,
}

impl Accounts {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let [window_calls, window_seconds] = [CALLS, SECONDS].map(Histogram::new);
        let [window_failures, passwords_hashed] = std::array::from_fn(|_| Counter::default());
        registry.register("probity_ledger_window_calls", "Live calls in one write to the ledger", window_calls.clone());
        registry.register(
            "probity_ledger_window_seconds",
            "How long one write to the ledger took",
            window_seconds.clone(),
        );
        registry.register(
            "probity_ledger_window_failures",
            "Writes to the ledger that failed",
            window_failures.clone(),
        );
        registry.register("probity_passwords_hashed", "Passwords that were hashed", passwords_hashed.clone());
        Self {
            credits: Counters::register(registry, "probity_credits", "Credits by what became of them", "move"),
            window_calls,
            window_seconds,
            window_failures,
            idempotency: Counters::register(
                registry,
                "probity_idempotent_requests",
                "Requests with an Idempotency-Key by what became of them",
                "outcome",
            ),
            limited: Counters::register(registry, "probity_rate_limited", "Requests over a rate limit (429)", "limit"),
            auth_failures: Counters::register(
                registry,
                "probity_auth_failures",
                "Requests that were not let in (401, 403)",
                "why",
            ),
            passwords_hashed,
        }
    }

    /// Counts passwords that are hashed.
    pub fn passwords_hashed(&self) -> Counter {
        self.passwords_hashed.clone()
    }

    /// So many credits were moved.
    pub fn credits(&self, moved: CreditMove, credits: u64) {
        self.credits.of(moved).inc_by(credits);
    }

    /// A window of the ledger with so many calls was written, or could not be.
    pub fn window(&self, calls: u32, took: Duration, written: bool) {
        self.window_calls.observe(f64::from(calls));
        self.window_seconds.observe(took.as_secs_f64());
        if !written {
            self.window_failures.inc();
        }
    }

    /// A request with an Idempotency-Key came to its end.
    pub fn idempotent(&self, outcome: Idempotent) {
        self.idempotency.of(outcome).inc();
    }

    /// A request was over a limit.
    pub fn limited(&self, by: LimitedBy) {
        self.limited.of(by).inc();
    }

    /// A request was not let in.
    pub fn auth_failed(&self, why: AuthFailure) {
        self.auth_failures.of(why).inc();
    }
}
