//! Verdicts that are still fresh, for each customer.
//!
//! Only what a mailbox or its exchanger said is kept: never silence, never a limit of ours, never a refusal of us. So a cached
//! verdict can be old, but not an accident.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use probity_core::time::Millis;
use probity_core::verdict::{EvidenceSource, Reason, Verification};

use crate::config::CacheTimes;

struct Kept {
    verification: Verification,
    at: Millis,
    until: Millis,
}

/// Whose verdict, and about which normalized address.
type Key = (u64, Box<str>);

/// The cache of verdicts.
pub(crate) struct Verdicts {
    kept: Option<Mutex<LruCache<Key, Kept>>>,
    times: CacheTimes,
}

impl Verdicts {
    /// A cache of at most `max` verdicts; 0 turns it off.
    pub(crate) fn new(max: usize, times: CacheTimes) -> Self {
        Self { kept: NonZeroUsize::new(max).map(|max| Mutex::new(LruCache::sparse(max))), times }
    }

    /// Whether nothing is ever kept.
    pub(crate) fn is_off(&self) -> bool {
        self.kept.is_none()
    }

    /// How many verdicts are kept, stale ones included.
    pub(crate) fn held(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.lock().unwrap_or_else(PoisonError::into_inner).len())
    }

    /// A fresh verdict about an address, as `email` asks for it.
    pub(crate) fn recall(&self, scope: u64, normalized: &str, email: &str, now: Millis) -> Option<Verification> {
        let mut kept = self.kept.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(&(scope, Box::from(normalized))).filter(|kept| kept.until > now)?;
        let mut verification = found.verification.clone();
        verification.email = email.into();
        verification.evidence.source = EvidenceSource::Cache;
        verification.evidence.age_s = u32::try_from(now.since(found.at) / 1_000).unwrap_or(u32::MAX);
        Some(verification)
    }

    /// Keeps a verdict if it is one that lasts.
    pub(crate) fn remember(&self, scope: u64, normalized: &str, verification: &Verification, now: Millis) {
        let Some(kept) = &self.kept else { return };
        let Some(mut keep_ms) = self.lasts_ms(verification) else { return };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (scope, Box::from(normalized));
        // A server that says one thing today and another tomorrow is not believed for long.
        let before = kept.peek(&key).map(|before| before.verification.verdict.reason);
        if before.is_some_and(|before| before != verification.verdict.reason) {
            keep_ms = keep_ms.min(self.times.bad_ms);
        }
        kept.put(key, Kept { verification: verification.clone(), at: now, until: now + keep_ms });
    }

    /// How long a verdict lasts; none where it must not be kept. What counts is the finding about the mailbox, not the reported one: a role
    /// mailbox that nobody answered for is reported as a role, and must be asked about again.
    fn lasts_ms(&self, verification: &Verification) -> Option<i64> {
        if verification.evidence.source != EvidenceSource::Smtp {
            return None;
        }
        let mut keep_ms = self.times.good_ms;
        for finding in &verification.verdict.findings {
            match finding.reason {
                Reason::FailedExchange | Reason::Unverified => return None,
                Reason::Nonexistent | Reason::Deactivated | Reason::InboxFull | Reason::AcceptAll => {
                    keep_ms = self.times.bad_ms;
                }
                _ => {}
            }
        }
        Some(keep_ms)
    }
}
