//! Balances as this node knows them: what a call needs to begin without the database.
//!
//! A balance counts for a second after it was read. Meanwhile other nodes and jobs may spend of it, so a [`Reservation`] is a
//! forecast and no credit: the charge decides. It keeps this node from asking mail servers for calls that its own calls
//! leave no credits for. Lost with the process, it costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probity_engine::clock::Clock;
use probity_store::OrgNo;

/// How long a balance counts.
const FRESH: Duration = Duration::from_secs(1);
/// Balances remembered at most; beyond that those that no call and no fresh reading needs are forgotten.
const REMEMBERED_MAX: usize = 10_000;

/// What is known of one organization.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Credits at the last reading.
    available: i64,
    /// Until when that counts.
    until: Duration,
    /// Calls under way, each of which may cost one.
    calls: i64,
}

/// The balances of a node.
pub(super) struct Balances {
    clock: Clock,
    known: Mutex<HashMap<OrgNo, Known>>,
}

/// A call under way that this node has counted against its organization's balance.
pub struct Reservation {
    org: OrgNo,
    balances: Arc<Balances>,
    counts: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.counts
            && let Some(known) = self.balances.known().get_mut(&self.org)
        {
            known.calls -= 1;
        }
    }
}

impl Reservation {
    /// Ends it without a look at the balance, which whoever calls this counts down itself.
    fn forgotten(mut self) -> bool {
        std::mem::take(&mut self.counts)
    }
}

impl Balances {
    pub(super) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { clock, known: Mutex::default() })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<OrgNo, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a credit of a balance that is fresh and covers it; otherwise the account has to be looked at.
    pub(super) fn reserve(self: &Arc<Self>, org: OrgNo) -> Option<Reservation> {
        let now = self.clock.elapsed();
        let mut all = self.known();
        let known = all.get_mut(&org).filter(|known| now < known.until)?;
        self.taken(org, known)
    }

    fn taken(self: &Arc<Self>, org: OrgNo, known: &mut Known) -> Option<Reservation> {
        (known.calls < known.available).then(|| {
            known.calls += 1;
            Reservation { org, balances: Arc::clone(self), counts: true }
        })
    }

    /// Notes what an account has after these calls ended, and reserves as many credits as are wanted and there. Both in one
    /// step: a call that is paid for and still counted would hide a credit from another.
    pub(super) fn read(
        self: &Arc<Self>,
        org: OrgNo,
        available: i64,
        ended: impl Iterator<Item = Reservation>,
        wanted: usize,
    ) -> Vec<Reservation> {
        let now = self.clock.elapsed();
        let mut all = self.known();
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

    /// Forgets a balance, so that the next call looks at the account.
    pub(super) fn doubt(&self, org: OrgNo) {
        if let Some(known) = self.known().get_mut(&org) {
            known.until = Duration::ZERO;
        }
    }
}
