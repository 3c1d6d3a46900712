//! A site: one MX host, or one provider, as one source sees it. Limits connections and recipients, and says when to pause.
//!
//! A site has connections, of which jobs leave one to live calls if there are several, and a state (`budget`, `governor`,
//! `breaker`). Each flight is booked there before it is sent ([`Site::admit`]) and evaluated afterwards
//! ([`Site::record_findings`]). A shortage is a [`SiteHold`] with a time, never a verdict. Slots are values: dropping one frees its
//! connection, whatever happened to the session, so a canceled plan leaks none.
//!
//! The two locks, of the state and of the idle sessions, are held for a few steps, never nested, and never over an `await`. The
//! counters beside them are hints about waiters; an error of one costs an extra look.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use probity_mail::limits::Gcra;
use probity_mail::plan::FlightFindings;
use probity_mail::policy::Policy;
use probity_mail::time::{HOUR_MS, Millis};
use probity_mail::verdict::NotAsked;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::SiteKey;
use super::breaker::CircuitBreaker;
use super::budget::{SiteHold, SiteState};
use super::drops::SessionDrops;
use super::governor::MissingShareGovernor;
use super::watch::{SiteView, SiteWatch};
use crate::limits::line::{FairQueue, QueuePermit};
use crate::locked;
use crate::net::link::MailSession;
use crate::request::{Asker, DestinationCapacity, Effort};

const MINUTE_MS: i64 = 60_000;
/// Time without a missing recipient after which earlier ones are forgotten.
const MISSES_FORGOTTEN_MS: i64 = 2 * HOUR_MS;

/// Work that a site accepts within this time may queue for it, in milliseconds. More is better kept where it takes no memory.
const AHEAD_MS: i64 = MINUTE_MS;
/// Shortest time until a busy site is checked again, in milliseconds.
const LOOK_MS: i64 = 1_000;

/// Permit for one connection; released when dropped.
pub(crate) struct SiteSlot {
    _all: OwnedSemaphorePermit,
    _batch: Option<QueuePermit>,
}

/// Pacing state of one site.
pub(crate) struct Site {
    key: SiteKey,
    is_provider: bool,
    watch: Arc<SiteWatch>,
    /// Whether it is in the list of sites in trouble.
    watched: AtomicBool,
    itself: Weak<Self>,
    connections: usize,
    all: Arc<Semaphore>,
    /// Jobs' share of `all`: one connection is kept for live calls. Customers take turns.
    batch: Arc<FairQueue>,
    /// Live calls waiting for a connection.
    live_waiting: AtomicU32,
    rcpt_per_minute: u32,
    /// Whether its PIPELINING was found to be broken.
    lock_step: AtomicBool,
    state: Mutex<SiteState>,
    idle: Mutex<Vec<MailSession>>,
    /// Plans at this site or on their way to it.
    pub(super) interest: AtomicU32,
    /// Addresses of jobs that these plans still have to probe.
    pub(crate) queued: AtomicU32,
}

impl Site {
    pub(crate) fn new(key: SiteKey, policy: &Policy, watch: Arc<SiteWatch>) -> Arc<Self> {
        let connections = usize::try_from(policy.connections.max(1)).unwrap_or(1);
        let limit = |count: u32, period_ms, burst| (count > 0).then(|| Gcra::new(count, period_ms, burst));
        Arc::new_cyclic(|itself| Self {
            key,
            is_provider: policy.provider.is_some(),
            watch,
            watched: AtomicBool::new(false),
            itself: itself.clone(),
            connections,
            all: Arc::new(Semaphore::new(connections)),
            batch: FairQueue::new(usize::try_from(policy.job_connections()).unwrap_or(1)),
            live_waiting: AtomicU32::new(0),
            rcpt_per_minute: policy.rcpt_per_minute,
            lock_step: AtomicBool::new(false),
            state: Mutex::new(SiteState {
                rate: limit(policy.rcpt_per_minute, MINUTE_MS, policy.burst.max(1)),
                missing: limit(policy.missing_per_hour, HOUR_MS, policy.missing_per_hour),
                governor: policy.governor.map(MissingShareGovernor::new),
                breaker: CircuitBreaker::default(),
                misses: 0,
                misses_since: Millis::default(),
                drops: SessionDrops::default(),
                accepted_at: None,
            }),
            idle: Mutex::new(Vec::new()),
            interest: AtomicU32::new(0),
            queued: AtomicU32::new(0),
        })
    }

    /// Name that limits apply to: a provider's id or a host.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.key.1
    }

    /// A connection slot, if one is free.
    pub(crate) fn slot_now(&self, effort: Effort) -> Option<SiteSlot> {
        let batch = match effort {
            Effort::Batch => Some(self.batch.try_acquire()?),
            Effort::Live => None,
        };
        let all = self.all.clone().try_acquire_owned().ok()?;
        Some(SiteSlot { _all: all, _batch: batch })
    }

    /// Waits for a connection slot, at most `wait`.
    pub(crate) async fn slot(&self, asker: Asker, wait: Duration) -> Option<SiteSlot> {
        let acquire = async {
            let (batch, _waits) = match asker.effort {
                Effort::Batch => (Some(self.batch.acquire(asker.customer).await), None),
                Effort::Live => (None, Some(LiveWaits::at(&self.live_waiting))),
            };
            let all = self.all.clone().acquire_owned().await.ok()?;
            Some(SiteSlot { _all: all, _batch: batch })
        };
        tokio::time::timeout(wait, acquire).await.ok().flatten()
    }

    /// Whether a job should release its connection to a live call or, after `a_turn`, to another customer.
    pub(crate) fn is_wanted(&self, customer: u64, a_turn: bool) -> bool {
        self.live_waiting.load(Ordering::Relaxed) > 0 || (a_turn && self.batch.others_wait(customer))
    }

    /// Whether a customer has as many plans queued here as the site can take within a minute.
    pub(crate) fn is_crowded(&self, customer: u64) -> bool {
        let plans = u32::try_from(self.batch.waiting_of(customer)).unwrap_or(u32::MAX);
        self.rcpt_per_minute > 0 && plans >= self.rcpt_per_minute
    }

    /// Number of further job addresses that may queue here. `warmth` is the share of the limits that the source may use, in
    /// percent.
    pub(crate) fn outlook(&self, now: Millis, warmth: u32) -> DestinationCapacity {
        if let Some(hold) = self.closed(now) {
            return DestinationCapacity::At(hold.until);
        }
        let state = locked(&self.state);
        if let Some(until) = state.short_until(now, warmth) {
            return DestinationCapacity::At(until);
        }
        if self.rcpt_per_minute == 0 {
            return DestinationCapacity::Now(u32::MAX);
        }
        let minute = (self.rcpt_per_minute / state.cost(warmth)).max(1);
        let queued = self.queued.load(Ordering::Relaxed);
        match minute.checked_sub(queued) {
            Some(room) if room > 0 => DestinationCapacity::Now(room),
            _ => {
                let too_many = i64::from(queued - minute) + 1;
                DestinationCapacity::At(now + (too_many * AHEAD_MS / i64::from(minute)).max(LOOK_MS))
            }
        }
    }

    /// Pause of the site, if any.
    pub(crate) fn closed(&self, now: Millis) -> Option<SiteHold> {
        let state = locked(&self.state);
        let blocked = state.breaker.open_until(now).map(|until| SiteHold { why: NotAsked::Blocked, until });
        let paused = state.paused_until(now);
        blocked.or(paused.map(|until| SiteHold { why: NotAsked::Budget, until }))
    }

    /// Books up to `want` recipients for probing now; returns their number. `warmth` is the share of the limits that the source may
    /// use, in percent.
    pub(crate) fn admit(&self, now: Millis, want: u32, effort: Effort, warmth: u32) -> Result<u32, SiteHold> {
        if let Some(hold) = self.closed(now) {
            return Err(hold);
        }
        let mut state = locked(&self.state);
        let admitted = state.admit(now, want, effort, warmth);
        let tight = state.is_tight(now);
        drop(state);
        if tight {
            self.note();
        }
        admitted
    }

    /// Books the observations of a flight.
    pub(crate) fn record_findings(&self, now: Millis, heard: &FlightFindings, policy: &Policy) {
        let mut state = locked(&self.state);
        if now.since(state.misses_since) >= MISSES_FORGOTTEN_MS {
            state.misses = 0;
        }
        if heard.missing > 0 || heard.random_missing {
            state.misses_since = now;
        }
        state.misses = state.misses.saturating_add(heard.missing + u32::from(heard.random_missing));
        let random = u32::from(heard.random_missing && policy.random_counts_as_missing);
        if let Some(missing) = &mut state.missing {
            missing.charge(now, heard.missing + random);
        }
        if let Some(governor) = &mut state.governor {
            governor.record_findings(now, heard.answered, heard.missing);
        }
        if let Some(mails) = heard.mails_max {
            state.drops.full(now, mails);
        }
        if heard.accepted {
            state.accepted_at = Some(now);
        }
        if let Some((_, asked_ms)) = heard.about_us {
            state.breaker.refused(now, heard.refusals, asked_ms, policy);
        } else if heard.told_something || heard.random_missing {
            state.breaker.answered();
        }
        let trouble = heard.about_us.is_some() || state.paused_until(now).is_some() || state.is_tight(now);
        drop(state);
        if trouble {
            self.note();
        }
    }

    /// Number of recently missing recipients, which the server may hold against us. Reset after two hours without one, longer than
    /// servers are known to remember.
    pub(crate) fn misses(&self, now: Millis) -> u32 {
        let state = locked(&self.state);
        if now.since(state.misses_since) < MISSES_FORGOTTEN_MS { state.misses } else { 0 }
    }

    /// Whether it has accepted a recipient within two hours.
    pub(crate) fn accepts(&self, now: Millis) -> bool {
        locked(&self.state).accepted_at.is_some_and(|at| now.since(at) < MISSES_FORGOTTEN_MS)
    }

    /// Records that its PIPELINING is broken.
    pub(crate) fn ask_in_lock_step(&self) {
        self.lock_step.store(true, Ordering::Relaxed);
    }

    /// Whether sessions here send one command at a time.
    pub(crate) fn asks_in_lock_step(&self) -> bool {
        self.lock_step.load(Ordering::Relaxed)
    }

    /// Records the end of a session with a refusal; `dropped` if the server left silently.
    pub(crate) fn parted(&self, now: Millis, dropped: bool) {
        locked(&self.state).drops.parted(now, dropped);
    }

    /// Whether sessions here are expected to end at a refusal.
    pub(crate) fn drops_after_refusal(&self, now: Millis) -> bool {
        locked(&self.state).drops.are_usual(now)
    }

    /// Number of transactions that sessions here take, if it is limited.
    pub(crate) fn mails_max(&self, now: Millis) -> Option<u32> {
        locked(&self.state).drops.mails_max(now)
    }

    /// Records a client refusal before any recipient was probed.
    pub(crate) fn refused_us(&self, now: Millis, asked_ms: Option<i64>, policy: &Policy) {
        locked(&self.state).breaker.refused(now, 1, asked_ms, policy);
        self.note();
    }

    /// Adds itself to the list of sites in trouble, unless it is there.
    fn note(&self) {
        if !self.watched.swap(true, Ordering::Relaxed) {
            self.watch.enter(&self.key, self.itself.clone());
        }
    }

    /// Records that it was removed from the list.
    pub(crate) fn unwatched(&self) {
        self.watched.store(false, Ordering::Relaxed);
    }

    /// The operator's view; `None` if there is nothing to see and the site has left the list.
    pub(crate) fn look(&self, now: Millis) -> Option<SiteView> {
        // Before the look: later trouble adds it to the list again.
        self.unwatched();
        let state = locked(&self.state);
        let view = SiteView {
            phase: state.breaker.phase(now),
            paused_until: state.paused_until(now),
            rate: SiteState::spent(state.rate.as_ref(), now),
            missing: SiteState::spent(state.missing.as_ref(), now),
            is_provider: self.is_provider,
        };
        drop(state);
        let notable = view.is_notable();
        if notable {
            self.watched.store(true, Ordering::Relaxed);
        }
        notable.then_some(view)
    }

    /// A warm session to this address, if there is one; with `clear`, only one that was opened without trying STARTTLS.
    pub(crate) fn take_idle(&self, address: IpAddr, clear: bool) -> Option<MailSession> {
        let mut idle = locked(&self.idle);
        let found = idle.iter().position(|link| link.address() == address && (!clear || link.is_clear()))?;
        self.watch.idle_ended();
        Some(idle.swap_remove(found))
    }

    /// Keeps a session for the next probe; returns its number.
    pub(crate) fn put_idle(&self, link: MailSession) -> u64 {
        let number = link.number();
        locked(&self.idle).push(link);
        self.watch.idle_began();
        number
    }

    /// Takes the session of this number, if it is still there.
    pub(crate) fn expire_idle(&self, number: u64) -> Option<MailSession> {
        let mut idle = locked(&self.idle);
        let found = idle.iter().position(|link| link.number() == number)?;
        self.watch.idle_ended();
        Some(idle.swap_remove(found))
    }

    /// A warm session that must make room: held slots and idle sessions together may not exceed the connections.
    pub(crate) fn crowded_out(&self) -> Option<MailSession> {
        let mut idle = locked(&self.idle);
        let busy = self.connections - self.all.available_permits().min(self.connections);
        let crowded = !idle.is_empty() && busy + idle.len() > self.connections;
        crowded.then(|| {
            self.watch.idle_ended();
            idle.remove(0)
        })
    }
}

/// A live call waiting for a connection, until dropped.
struct LiveWaits<'a>(&'a AtomicU32);

impl<'a> LiveWaits<'a> {
    fn at(waiting: &'a AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for LiveWaits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use probity_mail::policy::{PaceProfile, Policies};

    use super::*;

    fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
        let mut policy = Policy::clone(&Policies::embedded().for_exchanger("mx.example.com", PaceProfile::Polite));
        change(&mut policy);
        policy
    }

    fn site(policy: &Policy) -> Arc<Site> {
        Site::new((0, Arc::from("mx.example.com")), policy, Arc::default())
    }

    #[test]
    fn a_batch_leaves_a_quarter_of_the_burst_and_a_live_call_may_take_it() {
        let site = site(&policy(|policy| policy.burst = 20));
        assert_eq!(site.admit(Millis(0), 100, Effort::Batch, 100), Ok(15));
        let hold = site.admit(Millis(0), 100, Effort::Batch, 100).expect_err("the batch's part is used up");
        assert_eq!(hold.until, Millis(1_000), "one a second");
        assert_eq!(site.admit(Millis(0), 100, Effort::Live, 100), Ok(5));
    }

    #[test]
    fn a_slowed_site_with_a_burst_of_one_still_moves() {
        let policy = policy(|policy| (policy.burst, policy.missing_per_hour) = (1, 0));
        let site = site(&policy);
        site.record_findings(
            Millis(0),
            &FlightFindings { answered: 100, missing: 50, ..FlightFindings::default() },
            &policy,
        );
        assert_eq!(site.admit(Millis(0), 1, Effort::Batch, 100), Ok(1));
        let hold = site.admit(Millis(0), 1, Effort::Batch, 100).expect_err("it is used up");
        assert!(hold.until > Millis(0), "a wait that ends at once would never end");
        assert_eq!(site.admit(hold.until, 1, Effort::Batch, 100), Ok(1));
    }
}
