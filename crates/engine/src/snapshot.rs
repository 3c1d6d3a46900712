//! What an operator must see of a running engine: what it holds, what holds it back, and what it does not understand.
//!
//! Taking a snapshot reads counters and takes each lock once and briefly; its cost grows with the number of sites in trouble
//! and with nothing else. It is not one instant: its parts are read one after the other, so sums may be off by what happened
//! in between. It names exchanger hosts and quotes masked replies, and is therefore for the operator only; it holds no
//! mailbox and no network address.

use std::sync::{Arc, PoisonError};

use probity_mail::time::Millis;

use crate::BACKGROUND_MAX;
use crate::inner::Inner;
use crate::pace::breaker::Phase;
use crate::pace::watch::{Spent, View};
use crate::request::Counters;

/// Sites that a snapshot names at most, for each of its lists.
pub const SITES_MAX: usize = 50;
/// Replies without a rule that a snapshot quotes at most.
pub const TEXTS_MAX: usize = 20;

/// How much of a limit is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In use now.
    pub used: usize,
    /// At most.
    pub limit: usize,
}

/// SMTP sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// All of them.
    pub all: Usage,
    /// Those of batches, the ones that wait for their turn included.
    pub batch: Usage,
    /// Those that are kept open for the next question.
    pub idle: Usage,
}

/// Why a site is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It refused us.
    Blocked,
    /// Too many of the recipients there did not exist.
    MissingShare,
}

impl Held {
    /// The name in snapshots and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::MissingShare => "missing_share",
        }
    }
}

/// A site that is left alone for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSite {
    /// The exchanger's host, or the id of a known provider.
    pub site: Arc<str>,
    /// Whether `site` is a known provider's id.
    pub is_provider: bool,
    /// The source (index into the configuration's) that leaves it alone.
    pub source: u16,
    /// Why.
    pub why: Held,
    /// Until when, in milliseconds since the Unix epoch.
    pub until: Millis,
}

/// How many circuit breakers are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakers {
    /// Sites that let everything pass.
    pub closed: usize,
    /// Sites that are asked again after a pause, whose next refusal costs a longer one.
    pub half_open: usize,
    /// Sites that are left alone because they refused us.
    pub open: usize,
    /// Sites that are left alone because too many recipients were missing.
    pub paused: usize,
}

/// Which limit of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Recipients that may be asked about at once.
    Rate,
    /// Recipients in an hour that turn out not to exist.
    Missing,
}

impl Limit {
    /// The name in snapshots and metrics.
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
    /// The exchanger's host, or the id of a known provider.
    pub site: Arc<str>,
    /// Whether `site` is a known provider's id.
    pub is_provider: bool,
    /// The source (index into the configuration's) that it counts for.
    pub source: u16,
    /// Which limit.
    pub budget: Limit,
    /// Spent.
    pub used: u32,
    /// Of this many.
    pub limit: u32,
}

/// Entries in the engine's memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caches {
    /// Verdicts.
    pub verdicts: usize,
    /// Facts about domains; none where the store of facts does not count them.
    pub facts: Option<usize>,
    /// DNS answers.
    pub dns: usize,
    /// Addresses of exchangers that could not be reached, or had trouble with TLS.
    pub addresses: usize,
}

/// Replies that no rule knew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// All of them.
    pub replies: u64,
    /// Distinct texts that are remembered; bounded, so a full memory says "at least".
    pub distinct: usize,
    /// Texts that were heard last, without addresses and with `#` for each digit.
    pub sample: Vec<String>,
}

/// An engine at work.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// SMTP sessions.
    pub sessions: Sessions,
    /// Circuit breakers by state.
    pub breakers: Breakers,
    /// Sites that are left alone now: at most [`SITES_MAX`], the ones that take longest first.
    pub held: Vec<HeldSite>,
    /// How many limits of sites are nearly used up.
    pub tight: usize,
    /// The limits of sites that are nearly used up: at most [`SITES_MAX`], known providers first, then the fullest.
    pub budgets: Vec<TightBudget>,
    /// Probes that go on behind an answer.
    pub background: Usage,
    /// Domains that batches work on.
    pub domains: Usage,
    /// Tasks under way: live probes, background probes, sessions that say goodbye or lie idle.
    pub tasks: usize,
    /// What has been done since the engine was built.
    pub counters: Counters,
    /// Entries in the engine's memories.
    pub caches: Caches,
    /// Replies that no rule knew.
    pub unmatched: Unmatched,
}

impl Snapshot {
    /// The state of an engine now.
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

/// A breaker that is open says more than a pause, where a site has both.
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
