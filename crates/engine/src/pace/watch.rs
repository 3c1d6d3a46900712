//! List of sites in trouble: the few of tens of thousands that an operator wants to see.
//!
//! A site adds itself when its breaker opens, its governor pauses or a budget runs low, and a look at the list removes sites
//! without trouble. So a look costs as much as there is trouble, and other sites pay nothing. The list is bounded: beyond it, the
//! sites added longest ago are removed, and return with their next trouble.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Weak};

use lru::LruCache;
use probity_mail::time::Millis;

use super::breaker::BreakerPhase;
use super::{Site, SiteKey};
use crate::locked;

/// Maximum sites on the list.
const WATCHED_MAX: usize = 4_096;

/// Remainder of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitUse {
    pub(crate) used: u32,
    pub(crate) limit: u32,
}

impl LimitUse {
    /// Whether no more than a quarter is left, which jobs leave to live calls.
    pub(crate) fn is_tight(self) -> bool {
        u64::from(self.used) * 4 >= u64::from(self.limit) * 3
    }
}

/// One site as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteView {
    pub(crate) phase: BreakerPhase,
    /// End of its pause because too many recipients were missing.
    pub(crate) paused_until: Option<Millis>,
    /// Recipients that may be probed at once.
    pub(crate) rate: Option<LimitUse>,
    /// Missing recipients in the hour.
    pub(crate) missing: Option<LimitUse>,
    /// Whether it belongs to a known provider, not to a single host.
    pub(crate) is_provider: bool,
}

impl SiteView {
    /// Whether there is anything to see.
    pub(crate) fn is_notable(&self) -> bool {
        let tight = |spent: Option<LimitUse>| spent.is_some_and(LimitUse::is_tight);
        self.phase != BreakerPhase::Closed || self.paused_until.is_some() || tight(self.rate) || tight(self.missing)
    }
}

/// Sites in trouble, and the count of warm sessions at all sites.
pub(crate) struct SiteWatch {
    sites: Mutex<LruCache<SiteKey, Weak<Site>>>,
    idle: AtomicUsize,
}

impl Default for SiteWatch {
    fn default() -> Self {
        let size = NonZeroUsize::new(WATCHED_MAX).expect("not zero");
        Self { sites: Mutex::new(LruCache::sparse(size)), idle: AtomicUsize::new(0) }
    }
}

impl SiteWatch {
    pub(crate) fn enter(&self, key: &SiteKey, site: Weak<Site>) {
        let out = locked(&self.sites).push(key.clone(), site);
        // A removed site must be able to return; one under the same name was only replaced.
        if let Some((name, pushed_off)) = out
            && name != *key
            && let Some(site) = pushed_off.upgrade()
        {
            site.unwatched();
        }
    }

    /// Every site in trouble now, the last added first.
    pub(crate) fn views(&self, now: Millis) -> Vec<(SiteKey, SiteView)> {
        let mut sites = locked(&self.sites);
        let mut views = Vec::new();
        let mut calm = Vec::new();
        for (key, site) in sites.iter() {
            match site.upgrade().and_then(|site| site.look(now)) {
                Some(view) => views.push((key.clone(), view)),
                None => calm.push(key.clone()),
            }
        }
        for key in &calm {
            sites.pop(key);
        }
        views
    }

    /// Counts a session that became idle.
    pub(crate) fn idle_began(&self) {
        self.idle.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an idle session that is used again, or ends.
    pub(crate) fn idle_ended(&self) {
        self.idle.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn idle(&self) -> usize {
        self.idle.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use probity_mail::policy::{PaceProfile, Policies, Policy};

    use super::*;
    use crate::pace::SiteTable;
    use crate::request::Effort;

    fn policy() -> Policy {
        let mut policy = Policy::clone(&Policies::embedded().for_exchanger("mx.example.com", PaceProfile::Polite));
        (policy.burst, policy.missing_per_hour) = (8, 20);
        policy
    }

    #[test]
    fn a_site_is_watched_from_its_first_trouble_until_the_last_is_over() {
        let (pace, policy) = (SiteTable::new(), policy());
        let site = pace.site(1, &Arc::from("mx.example.com"), &policy);
        let quiet = pace.site(1, &Arc::from("mx.example.net"), &policy);
        assert_eq!(quiet.admit(Millis(0), 1, Effort::Live, 100), Ok(1));
        assert_eq!(site.admit(Millis(0), 7, Effort::Live, 100), Ok(7));
        let [(key, view)] = &pace.watch().views(Millis(0))[..] else { panic!("one site is tight") };
        assert_eq!((key.0, &*key.1, view.rate), (1, "mx.example.com", Some(LimitUse { used: 7, limit: 8 })));
        assert_eq!((view.phase, view.is_provider), (BreakerPhase::Closed, false));
        site.refused_us(Millis(0), None, &policy);
        assert_eq!(pace.watch().views(Millis(0))[0].1.phase, BreakerPhase::Closed, "one refusal opens nothing");
        site.refused_us(Millis(0), None, &policy);
        let until = Millis(policy.breaker_ms_min);
        assert_eq!(pace.watch().views(Millis(0))[0].1.phase, BreakerPhase::Open(until));
        assert_eq!(pace.watch().views(until)[0].1.phase, BreakerPhase::HalfOpen);
        assert_eq!(pace.watch().views(until + policy.breaker_ms_max * 5), []);
        for _ in 0..2 {
            site.refused_us(until + policy.breaker_ms_max * 5, None, &policy);
        }
        assert_eq!(pace.watch().views(until + policy.breaker_ms_max * 5).len(), 1, "it enters again");
        assert_eq!(pace.sites(), 2);
    }

    #[test]
    fn a_full_list_drops_the_oldest_and_takes_it_back() {
        let (pace, policy) = (SiteTable::new(), policy());
        let sites: Vec<_> = (0..=WATCHED_MAX)
            .map(|n| {
                let site = pace.site(0, &Arc::from(format!("mx{n}.example.com")), &policy);
                for _ in 0..2 {
                    site.refused_us(Millis(0), None, &policy);
                }
                site
            })
            .collect();
        let named = |name: &str| pace.watch().views(Millis(1)).iter().any(|(key, _)| &*key.1 == name);
        assert_eq!(pace.watch().views(Millis(1)).len(), WATCHED_MAX);
        assert!(!named("mx0.example.com") && named("mx1.example.com"));
        sites[0].refused_us(Millis(2), None, &policy);
        assert!(named("mx0.example.com") && !named("mx1.example.com"));
    }
}
