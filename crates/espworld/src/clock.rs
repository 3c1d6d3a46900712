//! Clock of a world: the machine's, or a virtual one that is advanced explicitly.
//!
//! Rate limits, expiring tokens and invalid credentials use this clock, so a test skips an hour instantly.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Clock of a world, shared by its copies. Milliseconds of Unix time.
#[derive(Clone, Debug)]
pub struct EspClock(Option<Arc<AtomicI64>>);

impl EspClock {
    /// Returns a virtual clock at `ms`.
    pub fn standing_at(ms: i64) -> Self {
        Self(Some(Arc::new(AtomicI64::new(ms))))
    }

    /// Returns the machine's clock.
    pub fn machine() -> Self {
        Self(None)
    }

    /// Returns the current time.
    pub fn now(&self) -> i64 {
        match &self.0 {
            Some(ms) => ms.load(Ordering::SeqCst),
            None => machine_ms(),
        }
    }

    /// Advances a virtual clock. No effect on the machine's clock.
    pub fn advance(&self, ms: i64) {
        if let Some(now) = &self.0 {
            now.fetch_add(ms.max(0), Ordering::SeqCst);
        }
    }

    /// Returns whether the clock is virtual.
    pub fn is_virtual(&self) -> bool {
        self.0.is_some()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a development server for manual use and measurements, not part of simulations"
)]
fn machine_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
