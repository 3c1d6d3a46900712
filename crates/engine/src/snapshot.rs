//! Snapshot of a running engine for operators: its load, its throttling, and replies it does not understand.
//!
//! Taking a snapshot reads counters and takes each lock once, briefly; its cost grows only with the number of sites in trouble. It
//! is not one instant: its parts are read in turn, so sums may be slightly off. It names MX hosts and quotes masked replies, and is
//! therefore for the operator only; it contains no mailbox and no network address.

use std::sync::Arc;

use probity_mail::time::Millis;

use crate::limits::permits::SessionLimits;
use crate::limits::work::BACKGROUND_MAX;
use crate::pace::breaker::BreakerPhase;
use crate::pace::watch::{LimitUse, SiteView};
use crate::parts::EngineParts;
use crate::probe::unmatched::UnmatchedTexts;
use crate::request::EngineCounters;

/// Maximum sites in each list of a snapshot.
pub const SITES_MAX: usize = 50;
/// Maximum quoted replies without a rule.
pub const TEXTS_MAX: usize = 20;

/// Use of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitUsage {
    pub used: usize,
    pub limit: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionUsage {
    /// All sessions.
    pub all: LimitUsage,
    /// Sessions of jobs, including those queued.
    pub batch: LimitUsage,
    /// Sessions kept open for the next probe.
    pub idle: LimitUsage,
}

probity_mail::named! {
    /// Reason for the pause of a site.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PauseCause {
        /// It refused us.
        Blocked = "blocked",
        /// Too many of its recipients did not exist.
        MissingShare = "missing_share",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedSite {
    /// MX host name, or the id of a known provider.
    pub site: Arc<str>,
    /// Whether `site` is a known provider's id.
    pub is_provider: bool,
    /// Paused source (index into the configuration's).
    pub source: u16,
    pub why: PauseCause,
    /// End of the pause, in milliseconds since the Unix epoch.
    pub until: Millis,
}

/// Number of circuit breakers by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BreakerCounts {
    /// Sites without a pause.
    pub closed: usize,
    /// Sites probed again after a pause; their next refusal costs a longer one.
    pub half_open: usize,
    /// Sites paused because they refused us.
    pub open: usize,
    /// Sites paused because too many recipients were missing.
    pub paused: usize,
}

probity_mail::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SiteLimit {
        /// Recipients that may be probed at once.
        Rate = "rate",
        /// Missing recipients per hour.
        Missing = "missing",
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
    pub budget: SiteLimit,
    /// Amount used.
    pub used: u32,
    pub limit: u32,
}

/// Cache entries of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSizes {
    pub verdicts: usize,
    /// Facts about domains; `None` if their store does not count them.
    pub facts: Option<usize>,
    pub dns: usize,
    /// Addresses of MX hosts that were unreachable, or had trouble with TLS.
    pub addresses: usize,
}

/// Replies that matched no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnmatchedReplies {
    /// Total number.
    pub replies: u64,
    /// Distinct texts remembered; bounded, so a full memory means "at least".
    pub distinct: usize,
    /// Latest texts, without addresses and with `#` for each digit.
    pub sample: Vec<String>,
}

/// State of a running engine.
#[derive(Clone, Debug, Default)]
pub struct EngineSnapshot {
    pub sessions: SessionUsage,
    pub breakers: BreakerCounts,
    /// Sites paused now: at most [`SITES_MAX`], longest pauses first.
    pub held: Vec<PausedSite>,
    /// Number of site limits that are nearly used up.
    pub tight: usize,
    /// Site limits that are nearly used up: at most [`SITES_MAX`], known providers first, then the fullest.
    pub budgets: Vec<TightBudget>,
    /// Probes that continue after the verdict was returned.
    pub background: LimitUsage,
    /// Domains that jobs are working on.
    pub domains: LimitUsage,
    /// Tasks in progress: live probes, background probes, sessions that are ending or idle.
    pub tasks: usize,
    pub counters: EngineCounters,
    pub caches: CacheSizes,
    /// Replies that matched no rule.
    pub unmatched: UnmatchedReplies,
}

impl EngineSnapshot {
    pub(crate) fn of(parts: &EngineParts) -> Self {
        let EngineParts { work, knowledge, pacing, names, .. } = parts;
        let counters = parts.counters();
        let views = pacing.sites.watch().views(parts.clock.now());
        let sites = pacing.sites.sites();
        let mut held: Vec<PausedSite> = views.iter().filter_map(|(key, view)| held_site(key, view)).collect();
        held.sort_by_key(|held| std::cmp::Reverse(held.until));
        held.truncate(SITES_MAX);
        let (tight, budgets) = budgets(&views);
        Self {
            sessions: sessions(parts, counters.sessions_open),
            breakers: breakers(sites, &views),
            held,
            tight,
            budgets,
            background: usage(work.background_free(), BACKGROUND_MAX),
            domains: usage(work.domains_free(), work.domains_max),
            tasks: work.tasks(),
            counters,
            caches: CacheSizes {
                verdicts: knowledge.verdicts.held(),
                facts: knowledge.facts.held(),
                dns: names.resolver().held(),
                addresses: pacing.reach.held(),
            },
            unmatched: unmatched(&parts.unmatched, counters.unmatched),
        }
    }
}

fn usage(free: usize, limit: usize) -> LimitUsage {
    LimitUsage { used: limit.saturating_sub(free), limit }
}

fn sessions(parts: &EngineParts, open: u64) -> SessionUsage {
    let permits = &parts.sessions.permits;
    let SessionLimits { all, batch, idle } = permits.limits;
    SessionUsage {
        all: LimitUsage { used: usize::try_from(open).unwrap_or(usize::MAX), limit: all },
        batch: usage(permits.batch_free(), batch),
        idle: LimitUsage { used: parts.pacing.sites.watch().idle(), limit: idle },
    }
}

/// If a site has both, an open breaker says more than a pause.
fn held_site((source, site): &(u16, Arc<str>), view: &SiteView) -> Option<PausedSite> {
    let (why, until) = match (view.phase, view.paused_until) {
        (BreakerPhase::Open(until), _) => (PauseCause::Blocked, until),
        (_, Some(until)) => (PauseCause::MissingShare, until),
        _ => return None,
    };
    Some(PausedSite { site: site.clone(), is_provider: view.is_provider, source: *source, why, until })
}

fn breakers(sites: usize, views: &[((u16, Arc<str>), SiteView)]) -> BreakerCounts {
    let count = |wanted: fn(&SiteView) -> bool| views.iter().filter(|(_, view)| wanted(view)).count();
    let open = count(|view| matches!(view.phase, BreakerPhase::Open(_)));
    let half_open = count(|view| view.phase == BreakerPhase::HalfOpen);
    let paused = count(|view| view.paused_until.is_some());
    BreakerCounts { closed: sites.saturating_sub(open + half_open), half_open, open, paused }
}

fn budgets(views: &[((u16, Arc<str>), SiteView)]) -> (usize, Vec<TightBudget>) {
    let tight = |spent: Option<LimitUse>| spent.filter(|spent| spent.is_tight());
    let mut all: Vec<TightBudget> = views
        .iter()
        .flat_map(|((source, site), view)| {
            let limits = [(SiteLimit::Rate, tight(view.rate)), (SiteLimit::Missing, tight(view.missing))];
            limits.into_iter().filter_map(move |(budget, spent)| {
                let LimitUse { used, limit } = spent?;
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

fn unmatched(texts: &UnmatchedTexts, replies: u64) -> UnmatchedReplies {
    let (distinct, sample) = texts.sample(TEXTS_MAX);
    UnmatchedReplies { replies, distinct, sample }
}
