//! Cache of organizations' compiled overrides. Compiling 1,000 long words takes milliseconds, and parts of jobs are settled
//! many times per second.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;
use probity_account::overrides::{Overrides, Wishes};
use probity_engine::locked;
use probity_store::OrgNo;

/// Maximum number of cached organizations. The largest overrides take a few megabytes.
const KEPT_MAX: usize = 16;

/// Compiled overrides by organization, with the settings from which they were compiled.
#[derive(Debug)]
pub struct OverridesByOrg(Mutex<LruCache<OrgNo, (Wishes, Arc<Overrides>)>>);

impl Default for OverridesByOrg {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(NonZeroUsize::new(KEPT_MAX).expect("not zero"))))
    }
}

impl OverridesByOrg {
    /// Returns the overrides of these settings; `None` if they override nothing.
    pub(super) fn of(&self, org: OrgNo, wishes: Wishes) -> Option<Arc<Overrides>> {
        if wishes == Wishes::default() {
            return None;
        }
        let kept = |kept: &mut LruCache<OrgNo, (Wishes, Arc<Overrides>)>| {
            kept.get(&org).filter(|(of, _)| *of == wishes).map(|(_, ready)| ready.clone())
        };
        if let Some(ready) = kept(&mut locked(&self.0)) {
            return Some(ready);
        }
        // Compiles outside the lock, so that other organizations do not wait. Two callers may compile the same settings twice.
        let ready = Arc::new(Overrides::new(&wishes));
        locked(&self.0).put(org, (wishes, ready.clone()));
        Some(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_wishes_are_made_ready_once() {
        let ban = |word: &str| Wishes { banned_words: vec![word.into()], ..Wishes::default() };
        let all = OverridesByOrg::default();
        assert!(all.of(OrgNo(1), Wishes::default()).is_none());
        let first = all.of(OrgNo(1), ban("a")).unwrap();
        assert!(Arc::ptr_eq(&first, &all.of(OrgNo(1), ban("a")).unwrap()));
        assert!(!Arc::ptr_eq(&first, &all.of(OrgNo(2), ban("a")).unwrap()), "each has its own");
        let changed = all.of(OrgNo(1), ban("b")).unwrap();
        assert!(!Arc::ptr_eq(&first, &changed));
        assert!(Arc::ptr_eq(&changed, &all.of(OrgNo(1), ban("b")).unwrap()));
    }
}
