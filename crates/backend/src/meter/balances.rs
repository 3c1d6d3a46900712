//! Balances as this node last read them, so that a call can start without the database.
//!
//! A balance counts for 1 s after it was read. Other nodes and jobs may spend of it meanwhile, so a [`Reservation`] is an
//! estimate, not a hold: the charge decides. It prevents probes for calls whose credits this node's other calls will use.
//! Losing it with the process costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_engine::clock::EngineClock;
use probity_engine::locked;
use probity_store::OrgNo;

/// Time for which a balance counts after it was read.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum number of balances in memory. Beyond it, those are dropped that are neither fresh nor used by a call.
const REMEMBERED_MAX: usize = 10_000;

/// Balance of one organization.
#[derive(Clone, Copy, Debug, Default)]
struct KnownBalance {
    /// Credits when last read.
    available: i64,
    /// Time until which they count.
    until: Duration,
    /// Calls in progress, each of which may cost a credit.
    calls: i64,
}

pub(super) struct Balances {
    clock: EngineClock,
    known: Mutex<HashMap<OrgNo, KnownBalance>>,
}

/// Call in progress that is counted against its organization's balance.
pub struct Reservation {
    org: OrgNo,
    balances: Arc<Balances>,
    counts: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.counts
            && let Some(known) = locked(&self.balances.known).get_mut(&self.org)
        {
            known.calls -= 1;
        }
    }
}

impl Reservation {
    /// Ends the reservation without touching the balance. The caller must count it down if this returns true.
    fn forgotten(mut self) -> bool {
        std::mem::take(&mut self.counts)
    }
}

impl Balances {
    pub(super) fn new(clock: EngineClock) -> Arc<Self> {
        Arc::new(Self { clock, known: Mutex::default() })
    }

    /// Reserves a credit if the balance is fresh and covers it. Otherwise the account must be read.
    pub(super) fn reserve(self: &Arc<Self>, org: OrgNo) -> Option<Reservation> {
        let now = self.clock.elapsed();
        let mut all = locked(&self.known);
        let known = all.get_mut(&org).filter(|known| now < known.until)?;
        self.taken(org, known)
    }

    fn taken(self: &Arc<Self>, org: OrgNo, known: &mut KnownBalance) -> Option<Reservation> {
        (known.calls < known.available).then(|| {
            known.calls += 1;
            Reservation { org, balances: Arc::clone(self), counts: true }
        })
    }

    /// Stores the balance after these calls ended, and reserves up to `wanted` credits of it. Both happen in one step: a call
    /// that is paid and still counted would hide a credit from another.
    pub(super) fn read(
        self: &Arc<Self>,
        org: OrgNo,
        available: i64,
        ended: impl Iterator<Item = Reservation>,
        wanted: usize,
    ) -> Vec<Reservation> {
        let now = self.clock.elapsed();
        let mut all = locked(&self.known);
        if all.len() >= REMEMBERED_MAX {
            all.retain(|_, known| known.calls > 0 || now < known.until);
        }
        let known = all.entry(org).or_default();
        for reservation in ended {
            known.calls -= i64::from(reservation.forgotten());
        }
        (known.available, known.until) = (available, now + FRESH);
        std::iter::from_fn(|| self.taken(org, known)).take(wanted).collect()
    }

    /// Expires a balance, so that the next call reads the account.
    pub(super) fn doubt(&self, org: OrgNo) {
        if let Some(known) = locked(&self.known).get_mut(&org) {
            known.until = Duration::ZERO;
        }
    }
}
