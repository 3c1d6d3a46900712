//! Buckets in this process's memory.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use probity_mail::limits::Gcra;
use probity_mail::time::Millis;

use crate::limits::{Bucket, Limit, MINUTE_MS, State};

/// Buckets that are remembered; one that is forgotten is full.
const BUCKETS_MAX: usize = 50_000;

pub(crate) struct Buckets(Mutex<LruCache<Bucket, (u32, Gcra)>>);

impl Default for Buckets {
    fn default() -> Self {
        Self(Mutex::new(LruCache::sparse(NonZeroUsize::new(BUCKETS_MAX).expect("not zero"))))
    }
}

impl Buckets {
    pub(super) fn take(&self, limit: Limit, now: Millis) -> State {
        self.with(limit, now, |gcra| {
            let refused_until = gcra.take(now, 1).err();
            let full_at = gcra.ready_at(gcra.burst()).max(now);
            State {
                limit: limit.per_minute,
                remaining: gcra.available(now),
                full_at,
                bucket: limit.bucket,
                refused_until,
            }
        })
    }

    pub(super) fn give_back(&self, limit: Limit, now: Millis) {
        self.with(limit, now, |gcra| gcra.give_back(now, 1));
    }

    fn with<T>(&self, limit: Limit, now: Millis, act: impl FnOnce(&mut Gcra) -> T) -> T {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || (limit.per_minute, Gcra::new(limit.per_minute, MINUTE_MS, limit.per_minute));
        let kept = buckets.get_or_insert_mut(limit.bucket, fresh);
        if kept.0 != limit.per_minute {
            // Customers may change limits of theirs, as often as they like: what was used stays used.
            *kept = (limit.per_minute, kept.1.resized(now, limit.per_minute, MINUTE_MS, limit.per_minute));
        }
        act(&mut kept.1)
    }
}
