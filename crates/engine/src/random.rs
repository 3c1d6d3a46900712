//! Random choices of the engine: reproducible from one seed.

use std::sync::atomic::{AtomicU64, Ordering};

use probity_mail::plan::person_like;
use probity_mail::rng::{Rng, stable_hash};

/// Seed of all random choices, and the number of streams drawn from it.
pub(crate) struct RandomStreams {
    seed: u64,
    drawn: AtomicU64,
}

impl RandomStreams {
    /// Streams of this seed; without one, of a seed from the system's entropy. If there is none, the seed is 0, which only makes
    /// random choices predictable.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self { seed: seed.unwrap_or_else(|| getrandom::u64().unwrap_or_default()), drawn: AtomicU64::new(0) }
    }

    /// A random number stream for one probe of a domain: the same for the same seed, domain and probe count.
    pub(crate) fn of_probe(&self, domain: &str) -> Rng {
        self.stream(domain, self.drawn.fetch_add(1, Ordering::Relaxed))
    }

    /// The `nth` random local part for a domain in one probe. The next probe begins with the same one, so that a greylisting server
    /// recognizes it.
    pub(crate) fn local_part(&self, domain: &str, nth: u64) -> String {
        person_like(&mut self.stream(domain, nth))
    }

    fn stream(&self, domain: &str, nth: u64) -> Rng {
        Rng::new(self.seed ^ stable_hash(domain.bytes()) ^ nth.rotate_left(32))
    }
}
