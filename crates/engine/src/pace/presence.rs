//! Plans at a site or on their way to it, with their number of addresses: dropping a presence, for any reason, updates the site.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Site;
use crate::request::Effort;

/// A plan at a site or on its way to it.
pub(crate) struct SitePresence {
    site: Arc<Site>,
    /// Addresses of a job that the plan still has to probe.
    rows: u32,
}

impl SitePresence {
    /// Registers a plan with `rows` addresses to probe.
    pub(crate) fn at(site: Arc<Site>, effort: Effort, rows: u32) -> Self {
        site.interest.fetch_add(1, Ordering::Relaxed);
        let rows = if effort == Effort::Batch { rows } else { 0 };
        site.queued.fetch_add(rows, Ordering::Relaxed);
        Self { site, rows }
    }

    pub(crate) fn site(&self) -> &Arc<Site> {
        &self.site
    }

    pub(crate) fn is_at(&self, site: &Arc<Site>) -> bool {
        Arc::ptr_eq(&self.site, site)
    }

    /// Records that `rows` addresses have their fate.
    pub(crate) fn told(&mut self, rows: usize) {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX).min(self.rows);
        self.rows -= rows;
        self.site.queued.fetch_sub(rows, Ordering::Relaxed);
    }

    /// Whether another plan is there, too.
    pub(crate) fn has_company(&self) -> bool {
        self.site.interest.load(Ordering::Relaxed) > 1
    }
}

impl Drop for SitePresence {
    fn drop(&mut self) {
        self.site.interest.fetch_sub(1, Ordering::Relaxed);
        self.site.queued.fetch_sub(self.rows, Ordering::Relaxed);
    }
}
