//! Buckets in the memory of this process.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use probity_engine::locked;
use probity_mail::limits::Gcra;
use probity_mail::time::Millis;

use crate::limits::{LimitBucket, LimitState, TokenLimit};

/// Maximum number of buckets in memory. A bucket that was dropped is full.
const BUCKETS_MAX: usize = 50_000;

pub struct LocalBuckets(Mutex<LruCache<LimitBucket, (TokenLimit, Gcra)>>);

impl Default for LocalBuckets {
    fn default() -> Self {
        Self(Mutex::new(LruCache::sparse(NonZeroUsize::new(BUCKETS_MAX).expect("not zero"))))
    }
}

impl LocalBuckets {
    pub(super) fn take(&self, limit: TokenLimit, now: Millis) -> LimitState {
        self.with(limit, now, |gcra| {
            let refused_until = gcra.take(now, 1).err();
            let full_at = gcra.ready_at(gcra.burst()).max(now);
            LimitState {
                limit: limit.burst,
                remaining: gcra.available(now),
                full_at,
                bucket: limit.bucket,
                refused_until,
            }
        })
    }

    pub(super) fn give_back(&self, limit: TokenLimit, now: Millis) {
        self.with(limit, now, |gcra| gcra.give_back(now, 1));
    }

    fn with<T>(&self, limit: TokenLimit, now: Millis, act: impl FnOnce(&mut Gcra) -> T) -> T {
        let mut buckets = locked(&self.0);
        let fresh = || (limit, Gcra::every(limit.step_us, limit.burst));
        let kept = buckets.get_or_insert_mut(limit.bucket, fresh);
        if kept.0 != limit {
            // Customers may change their own limits at any time. Used tokens stay used.
            *kept = (limit, kept.1.resized(now, &Gcra::every(limit.step_us, limit.burst)));
        }
        act(&mut kept.1)
    }
}
