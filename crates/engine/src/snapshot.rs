//! Snapshot of a running engine for operators: its load, its throttling, and replies it does not understand.
//!
//! Taking a snapshot reads counters and takes each lock once, briefly; its cost grows only with the number of sites in trouble. It
//! is not one instant: its parts are read in turn, so sums may be slightly off. It names MX hosts and quotes masked replies, and is
//! therefore for the operator only; it contains no mailbox and no network address.

use std::sync::{Arc, PoisonError};

use probity_mail::time::Millis;

use crate::BACKGROUND_MAX;
use crate::inner::Inner;
use crate::pace::breaker::Phase;
use crate::pace::watch::{Spent, View};
use crate::request::Counters;

/// Maximum sites in each list of a snapshot.
pub const SITES_MAX: usize = 50;
/// Maximum quoted replies without a rule.
pub const TEXTS_MAX: usize = 20;

/// Use of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub used: usize,
    pub limit: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// All sessions.
    pub all: Usage,
    /// Sessions of jobs, including those queued.
    pub batch: Usage,
    /// Sessions kept open for the next probe.
    pub idle: Usage,
}

/// Reason for the pause of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It refused us.
    Blocked,
    /// Too many of its recipients did not exist.
    MissingShare,
}

impl Held {
    /// Name in snapshots and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::MissingShare => "missing_share",
        }
    }
}

/// A paused site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSite {
    /// MX host name, or the id of a known provider.
    pub site: Arc<str>,
    /// Whether `site` is a known provider's id.
    pub is_provider: bool,
    /// Paused source (index into the configuration's).
    pub source: u16,
    pub why: Held,
    /// End of the pause, in milliseconds since the Unix epoch.
    pub until: Millis,
}

/// Number of circuit breakers by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakers {
    /// Sites without a pause.
    pub closed: usize,
    /// Sites probed again after a pause; their next refusal costs a longer one.
    pub half_open: usize,
    /// Sites paused because they refused us.
    pub open: usize,
    /// Sites paused because too many recipients were missing.
    pub paused: usize,
}

/// Limit of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Recipients that may be probed at once.
    Rate,
    /// Missing recipients per hour.
    Missing,
}

impl Limit {
    /// Name in snapshots and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Missing => "missing",
        }
    }
}

/// A limit of a site of which little is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TightBudget {
    /// MX host name, or the id of a known provider.
    pub site: Arc<str>,
    /// Whether `site` is a known provider's id.
    pub is_provider: bool,
    /// Source that it applies to (index into the configuration's).
    pub source: u16,
    /// The limit.
    pub budget: Limit,
    /// Amount used.
    pub used: u32,
    pub limit: u32,
}

/// Cache entries of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caches {
    pub verdicts: usize,
    /// Facts about domains; `None` if their store does not count them.
    pub facts: Option<usize>,
    pub dns: usize,
    /// Addresses of MX hosts that were unreachable, or had trouble with TLS.
    pub addresses: usize,
}

/// Replies that matched no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Total number.
    pub replies: u64,
    /// Distinct texts remembered; bounded, so a full memory means "at least".
    pub distinct: usize,
    /// Latest texts, without addresses and with `#` for each digit.
    pub sample: Vec<String>,
}

/// State of a running engine.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub sessions: Sessions,
    pub breakers: Breakers,
    /// Sites paused now: at most [`SITES_MAX`], longest pauses first.
    pub held: Vec<HeldSite>,
    /// Number of site limits that are nearly used up.
    pub tight: usize,
    /// Site limits that are nearly used up: at most [`SITES_MAX`], known providers first, then the fullest.
    pub budgets: Vec<TightBudget>,
    /// Probes that continue after the verdict was returned.
    pub background: Usage,
    /// Domains that jobs are working on.
    pub domains: Usage,
    /// Tasks in progress: live probes, background probes, sessions that are ending or idle.
    pub tasks: usize,
    pub counters: Counters,
    pub caches: Caches,
    /// Replies that matched no rule.
    pub unmatched: Unmatched,
}

impl Snapshot {
    pub(crate) fn of(inner: &Inner) -> Self {
        let now = inner.clock.now();
        let counters = inner.ground.tally.counters(inner.resolver.counts());
        let views = inner.pace.watch().views(now);
        let sites = inner.pace.sites();
        let mut held: Vec<HeldSite> = views.iter().filter_map(|(key, view)| held_site(key, view)).collect();
        held.sort_by_key(|held| std::cmp::Reverse(held.until));
        held.truncate(SITES_MAX);
        let (tight, budgets) = budgets(&views);
        Self {
            sessions: sessions(inner, counters.sessions_open),
            breakers: breakers(sites, &views),
            held,
            tight,
            budgets,
            background: usage(inner.background.available_permits(), BACKGROUND_MAX),
            domains: usage(inner.domains.free(), inner.config.domains_max.max(1)),
            tasks: inner.tasks.len(),
            counters,
            caches: Caches {
                verdicts: inner.verdicts.held(),
                facts: inner.facts.held(),
                dns: inner.resolver.held(),
                addresses: inner.reach.held(),
            },
            unmatched: unmatched(inner, counters.unmatched),
        }
    }
}

fn usage(free: usize, limit: usize) -> Usage {
    Usage { used: limit.saturating_sub(free), limit }
}

fn sessions(inner: &Inner, open: u64) -> Sessions {
    let [all, batch, idle] = Inner::session_limits(inner.config.sessions_max);
    Sessions {
        all: Usage { used: usize::try_from(open).unwrap_or(usize::MAX), limit: all },
        batch: usage(inner.sessions_batch.free(), batch),
        idle: Usage { used: inner.pace.watch().idle(), limit: idle },
    }
}

/// If a site has both, an open breaker says more than a pause.
fn held_site((source, site): &(u16, Arc<str>), view: &View) -> Option<HeldSite> {
    let (why, until) = match (view.phase, view.paused_until) {
        (Phase::Open(until), _) => (Held::Blocked, until),
        (_, Some(until)) => (Held::MissingShare, until),
        _ => return None,
    };
    Some(HeldSite { site: site.clone(), is_provider: view.is_provider, source: *source, why, until })
}

fn breakers(sites: usize, views: &[((u16, Arc<str>), View)]) -> Breakers {
    let count = |wanted: fn(&View) -> bool| views.iter().filter(|(_, view)| wanted(view)).count();
    let open = count(|view| matches!(view.phase, Phase::Open(_)));
    let half_open = count(|view| view.phase == Phase::HalfOpen);
    let paused = count(|view| view.paused_until.is_some());
    Breakers { closed: sites.saturating_sub(open + half_open), half_open, open, paused }
}

fn budgets(views: &[((u16, Arc<str>), View)]) -> (usize, Vec<TightBudget>) {
    let tight = |spent: Option<Spent>| spent.filter(|spent| spent.is_tight());
    let mut all: Vec<TightBudget> = views
        .iter()
        .flat_map(|((source, site), view)| {
            let limits = [(Limit::Rate, tight(view.rate)), (Limit::Missing, tight(view.missing))];
            limits.into_iter().filter_map(move |(budget, spent)| {
                let Spent { used, limit } = spent?;
                let site = site.clone();
                Some(TightBudget { site, is_provider: view.is_provider, source: *source, budget, used, limit })
            })
        })
        .collect();
    let count = all.len();
    all.sort_by_key(|one| (!one.is_provider, u64::from(one.limit - one.used) * 1_000 / u64::from(one.limit.max(1))));
    all.truncate(SITES_MAX);
    (count, all)
}

fn unmatched(inner: &Inner, replies: u64) -> Unmatched {
    let texts = inner.unmatched.lock().unwrap_or_else(PoisonError::into_inner);
    let sample = texts.iter().take(TEXTS_MAX).map(|(text, ())| text.clone()).collect();
    Unmatched { replies, distinct: texts.len(), sample }
}
