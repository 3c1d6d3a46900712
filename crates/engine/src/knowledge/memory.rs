//! Cache of fresh verdicts, per customer.
//!
//! Only replies of a mailbox or its MX host are cached: never silence, our own limits, or a client refusal. So a cached verdict can
//! be old, but not accidental.
//!
//! Addresses that a customer wants forgotten ([`VerdictCache::forget`]) are removed at once, and not cached again while a probe of
//! them may be in progress: its late result would bring them back.

use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;
use probity_mail::time::Millis;
use probity_mail::verdict::{EvidenceSource, Reason, Timings, Verification};

use crate::config::CacheTimes;
use crate::locked;

struct CachedVerdict {
    verification: Verification,
    at: Millis,
    until: Millis,
}

/// Keyed hash that identifies an address in an erasure request.
pub type AddressTag = [u8; 16];

/// Addresses of a customer to forget.
#[derive(Clone)]
pub struct ForgetRequest {
    /// Computes the tag of a normalized address: the same for all requests of a customer.
    pub tag: Arc<dyn Fn(&str) -> AddressTag + Send + Sync>,
    pub tags: Arc<HashSet<AddressTag>>,
}

/// Maximum requests remembered; more end the oldest early.
const FORGOTTEN_MAX: usize = 1_000;

/// Addresses not to be cached again until a time.
struct ForgottenTags {
    scope: u64,
    tags: Arc<HashSet<AddressTag>>,
    until: Millis,
}

/// All addresses that a customer wants forgotten: one tag and one look-up, however many requests there are.
struct OfScope {
    tag: Arc<dyn Fn(&str) -> AddressTag + Send + Sync>,
    until: HashMap<AddressTag, Millis>,
}

/// Requests of all customers.
#[derive(Default)]
struct ForgetRequests {
    /// Oldest first.
    line: VecDeque<ForgottenTags>,
    scopes: HashMap<u64, OfScope>,
}

impl ForgetRequests {
    fn add(&mut self, scope: u64, which: &ForgetRequest, now: Millis, until: Millis) {
        while self.line.front().is_some_and(|oldest| oldest.until <= now) || self.line.len() >= FORGOTTEN_MAX {
            self.end_oldest();
        }
        let of_scope =
            self.scopes.entry(scope).or_insert_with(|| OfScope { tag: which.tag.clone(), until: HashMap::new() });
        for tag in which.tags.iter() {
            let longest = of_scope.until.entry(*tag).or_insert(until);
            *longest = until.max(*longest);
        }
        self.line.push_back(ForgottenTags { scope, tags: which.tags.clone(), until });
    }

    fn end_oldest(&mut self) {
        let Some(ForgottenTags { scope, tags, until }) = self.line.pop_front() else { return };
        let Some(of_scope) = self.scopes.get_mut(&scope) else { return };
        for tag in tags.iter() {
            // Another request for the same address may last longer.
            if of_scope.until.get(tag).is_some_and(|longest| *longest <= until) {
                of_scope.until.remove(tag);
            }
        }
        if of_scope.until.is_empty() {
            self.scopes.remove(&scope);
        }
    }

    fn name(&self, scope: u64, normalized: &str, now: Millis) -> bool {
        let Some(of_scope) = self.scopes.get(&scope) else { return false };
        of_scope.until.get(&(of_scope.tag)(normalized)).is_some_and(|until| *until > now)
    }
}

/// Customer, and normalized address.
type AddressKey = (u64, Box<str>);

pub(crate) struct VerdictCache {
    kept: Option<Mutex<LruCache<AddressKey, CachedVerdict>>>,
    wishes: Mutex<ForgetRequests>,
    times: CacheTimes,
}

impl VerdictCache {
    /// A cache of at most `max` verdicts; 0 turns it off.
    pub(crate) fn new(max: usize, times: CacheTimes) -> Self {
        let kept = NonZeroUsize::new(max).map(|max| Mutex::new(LruCache::sparse(max)));
        Self { kept, wishes: Mutex::default(), times }
    }

    /// Whether the cache is off.
    pub(crate) fn is_off(&self) -> bool {
        self.kept.is_none()
    }

    /// Number of cached verdicts, including stale ones.
    pub(crate) fn held(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| locked(kept).len())
    }

    /// A fresh verdict about an address, as `email` spells it.
    pub(crate) fn recall(&self, scope: u64, normalized: &str, email: &str, now: Millis) -> Option<Verification> {
        let mut kept = locked(self.kept.as_ref()?);
        let found = kept.get(&(scope, Box::from(normalized))).filter(|kept| kept.until > now)?;
        let mut verification = found.verification.clone();
        verification.email = email.into();
        verification.evidence.source = EvidenceSource::Cache;
        // The timings of the earlier probe do not apply to this call.
        verification.evidence.timings = Timings::default();
        verification.evidence.age_s = u32::try_from(now.since(found.at) / 1_000).unwrap_or(u32::MAX);
        Some(verification)
    }

    /// Forgets verdicts of a customer, and caches none of these addresses again until a time.
    pub(crate) fn forget(&self, scope: u64, which: &ForgetRequest, now: Millis, until: Millis) {
        let Some(kept) = &self.kept else { return };
        locked(&self.wishes).add(scope, which, now, until);
        let mut kept = locked(kept);
        let of_scope =
            kept.iter().filter(|((of, address), _)| *of == scope && which.tags.contains(&(which.tag)(address)));
        let keys: Vec<AddressKey> = of_scope.map(|(key, _)| key.clone()).collect();
        for key in keys {
            kept.pop(&key);
        }
    }

    /// Caches a verdict if it lasts and its address is not to be forgotten.
    pub(crate) fn remember(&self, scope: u64, normalized: &str, verification: &Verification, now: Millis) {
        let Some(kept) = &self.kept else { return };
        let Some(mut keep_ms) = self.lasts_ms(verification) else { return };
        let mut kept = locked(kept);
        // Checked under the lock: a request arriving now finds either nothing or an entry cached before.
        if locked(&self.wishes).name(scope, normalized, now) {
            return;
        }
        let key = (scope, Box::from(normalized));
        // A server that changes its reply is not believed for long.
        let before = kept.peek(&key).map(|before| before.verification.verdict.reason);
        if before.is_some_and(|before| before != verification.verdict.reason) {
            keep_ms = keep_ms.min(self.times.bad_ms);
        }
        kept.put(key, CachedVerdict { verification: lasting(verification), at: now, until: now + keep_ms });
    }

    /// Lifetime of a verdict; `None` if it must not be cached. The finding about the mailbox counts, not the reported one: a role
    /// mailbox without a reply is reported as a role, and must be probed again.
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

/// A verdict as cached: without its dialog, which is large and returned only once.
fn lasting(verification: &Verification) -> Verification {
    let mut verification = verification.clone();
    if let Some(probe) = &mut verification.evidence.probe {
        probe.steps = Box::default();
    }
    verification
}

#[cfg(test)]
mod tests {
    use probity_mail::verdict::{Evidence, Flags, Verdict};

    use super::*;

    fn verification(email: &str) -> Verification {
        Verification {
            email: email.into(),
            domain: "example.org".into(),
            verdict: Verdict::of(Vec::new(), &"mailbox.accepted".into()),
            suggestion: None,
            flags: Flags::default(),
            gibberish_score: 0.0,
            evidence: Evidence { source: EvidenceSource::Smtp, ..Evidence::default() },
        }
    }

    /// The beginning of an address, which suffices here.
    fn tag(address: &str) -> AddressTag {
        std::array::from_fn(|at| address.as_bytes().get(at).copied().unwrap_or(0))
    }

    fn wish<const N: usize>(addresses: [&str; N]) -> ForgetRequest {
        ForgetRequest { tag: Arc::new(tag), tags: Arc::new(addresses.map(tag).into()) }
    }

    const TIMES: CacheTimes =
        CacheTimes { good_ms: 1_000_000, bad_ms: 1_000, catch_all_yes_ms: 0, catch_all_no_ms: 0, accepted_ms: 0 };

    #[test]
    fn what_is_forgotten_goes_and_does_not_come_back_with_a_late_answer() {
        let verdicts = VerdictCache::new(10, TIMES);
        let remember = |scope, address, at| verdicts.remember(scope, address, &verification(address), Millis(at));
        let knows = |scope, address: &str, at| verdicts.recall(scope, address, address, Millis(at)).is_some();
        for scope in [1, 2] {
            remember(scope, "ann@example.org", 0);
            remember(scope, "bob@example.org", 0);
        }
        assert!(knows(1, "ann@example.org", 1));
        verdicts.forget(1, &wish(["ann@example.org"]), Millis(10), Millis(100));
        assert!(!knows(1, "ann@example.org", 11));
        assert!(knows(1, "bob@example.org", 11) && knows(2, "ann@example.org", 11), "and nothing else");
        remember(1, "ann@example.org", 99);
        assert!(!knows(1, "ann@example.org", 99), "an answer that was on its way");
        remember(2, "ann@example.org", 99);
        assert!(knows(2, "ann@example.org", 99));
        remember(1, "ann@example.org", 100);
        assert!(knows(1, "ann@example.org", 101), "a later question");
    }

    #[test]
    fn what_is_recalled_does_not_tell_how_long_the_first_question_took() {
        let verdicts = VerdictCache::new(10, TIMES);
        let mut first = verification("ann@example.org");
        first.evidence.timings = Timings { dns: 5, connect: 11, smtp: 1, total: 17 };
        verdicts.remember(1, "ann@example.org", &first, Millis(0));
        let again = verdicts.recall(1, "ann@example.org", "ann@example.org", Millis(2_000)).expect("it is fresh");
        assert_eq!((again.evidence.source, again.evidence.age_s), (EvidenceSource::Cache, 2));
        assert_eq!(again.evidence.timings, Timings::default());
    }

    #[test]
    fn many_wishes_cost_a_verdict_one_tag() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let (verdicts, asked) = (VerdictCache::new(10, TIMES), Arc::new(AtomicUsize::new(0)));
        let counting = asked.clone();
        let counted = Arc::new(move |address: &str| {
            counting.fetch_add(1, Ordering::Relaxed);
            tag(address)
        });
        for n in 0..1_000 {
            let tags = Arc::new([tag(&format!("{n}@example.org"))].into());
            verdicts.forget(1, &ForgetRequest { tag: counted.clone(), tags }, Millis(n), Millis(n + 2_000));
        }
        assert_eq!(asked.swap(0, Ordering::Relaxed), 0, "nothing was kept");
        let kept = |scope, address: &str, at| {
            verdicts.remember(scope, address, &verification(address), Millis(at));
            verdicts.recall(scope, address, address, Millis(at)).is_some()
        };
        assert!(!kept(1, "0@example.org", 1_000) && !kept(1, "999@example.org", 1_000));
        assert_eq!(asked.swap(0, Ordering::Relaxed), 2, "one for each verdict");
        assert!(kept(2, "0@example.org", 1_000));
        assert_eq!(asked.load(Ordering::Relaxed), 0, "and none for other customers'");
        // One more ends the oldest early, but not an address that a later request names, too.
        verdicts.forget(1, &wish(["1@example.org"]), Millis(1_000), Millis(3_000));
        assert!(kept(1, "0@example.org", 1_001) && !kept(1, "1@example.org", 1_001));
        verdicts.forget(1, &wish(["new@example.org"]), Millis(2_500), Millis(4_500));
        assert!(!kept(1, "1@example.org", 2_500) && kept(1, "400@example.org", 2_500));
        verdicts.forget(3, &wish([]), Millis(9_000), Millis(9_001));
        assert_eq!(locked(&verdicts.wishes).scopes.keys().copied().collect::<Vec<_>>(), [3]);
    }
}
