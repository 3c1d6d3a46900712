//! What a site allows now: its rate, its budget of missing recipients, its governor and its breaker.

use probity_mail::limits::Gcra;
use probity_mail::policy::LIVE_SHARE;
use probity_mail::time::Millis;
use probity_mail::verdict::NotAsked;

use super::breaker::CircuitBreaker;
use super::drops::SessionDrops;
use super::governor::MissingShareGovernor;
use super::watch::LimitUse;
use crate::limits::held::WAIT_MS;
use crate::request::Effort;

/// Recipients that are worth a transaction where a session takes few of them, if the rate allows them soon.
const WORTHWHILE: u32 = 3;

/// Throttled for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SiteHold {
    pub(crate) why: NotAsked,
    pub(crate) until: Millis,
}

/// Limits of a site, and its recent experience with us.
pub(super) struct SiteState {
    pub(super) rate: Option<Gcra>,
    pub(super) missing: Option<Gcra>,
    pub(super) governor: Option<MissingShareGovernor>,
    pub(super) breaker: CircuitBreaker,
    /// Refused recipients that did not exist, including random ones, and the time of the last.
    pub(super) misses: u32,
    pub(super) misses_since: Millis,
    pub(super) drops: SessionDrops,
    /// Time when a recipient was last accepted.
    pub(super) accepted_at: Option<Millis>,
}

impl SiteState {
    /// Books as many of `want` recipients as the limits allow.
    pub(super) fn admit(&mut self, now: Millis, want: u32, effort: Effort, warmth: u32) -> Result<u32, SiteHold> {
        let mut granted = want;
        if let Some(missing) = &self.missing {
            let left = missing_left(missing, now, effort, warmth)?;
            // A flight of one would need a made-up recipient, a miss, for each acceptance; what it overdraws is paid back first.
            granted = granted.min(self.governor.as_ref().map_or(left, |governor| governor.recipients_for(left)));
        }
        let cost = self.cost(warmth);
        if let Some(rate) = &mut self.rate {
            let kept = if effort == Effort::Batch { rate.burst() / LIVE_SHARE } else { 0 };
            // A cost beyond the burst would never be available.
            let cost = cost.min(rate.burst() - kept);
            let worthwhile = if self.drops.mails_max(now).is_some() { granted.min(WORTHWHILE) } else { 1 };
            let filled = rate.ready_at((kept + worthwhile * cost).min(rate.burst()));
            granted = granted.min(rate.available(now).saturating_sub(kept) / cost);
            if granted > 0 && filled > now && filled.since(now) <= WAIT_MS {
                return Err(SiteHold { why: NotAsked::Budget, until: filled });
            }
            if granted == 0 {
                return Err(SiteHold { why: NotAsked::Budget, until: rate.ready_at(kept + cost) });
            }
            rate.charge(now, granted * cost);
        }
        Ok(granted)
    }

    /// Cost of a recipient against the rate: higher for a cold source, and for one with too many missing recipients.
    pub(super) fn cost(&self, warmth: u32) -> u32 {
        (100 / warmth.clamp(1, 100)) * self.governor.as_ref().map_or(1, MissingShareGovernor::cost)
    }

    /// Time until which a job must wait for a limit, if that exceeds its wait on the spot.
    pub(super) fn short_until(&self, now: Millis, warmth: u32) -> Option<Millis> {
        let missing = self.missing.as_ref().and_then(|missing| missing_left(missing, now, Effort::Batch, warmth).err());
        let rate = self.rate.as_ref().map(|rate| {
            let kept = rate.burst() / LIVE_SHARE;
            rate.ready_at(kept + self.cost(warmth).min(rate.burst() - kept))
        });
        let until = missing.map(|hold| hold.until).max(rate)?;
        (until.since(now) > WAIT_MS).then_some(until)
    }

    pub(super) fn spent(limit: Option<&Gcra>, now: Millis) -> Option<LimitUse> {
        limit.map(|limit| LimitUse { used: limit.burst() - limit.available(now), limit: limit.burst() })
    }

    /// Whether little is left of a limit.
    pub(super) fn is_tight(&self, now: Millis) -> bool {
        [&self.rate, &self.missing]
            .into_iter()
            .any(|limit| Self::spent(limit.as_ref(), now).is_some_and(LimitUse::is_tight))
    }

    pub(super) fn paused_until(&self, now: Millis) -> Option<Millis> {
        self.governor.as_ref().and_then(|governor| governor.paused_until(now))
    }
}

/// Missing recipients left in the hour's budget: jobs leave a part to live calls, and a cold source uses only a part. At least one,
/// if none has been used.
fn missing_left(missing: &Gcra, now: Millis, effort: Effort, warmth: u32) -> Result<u32, SiteHold> {
    let burst = missing.burst();
    let usable = if effort == Effort::Batch { burst - burst / LIVE_SHARE } else { burst };
    let usable = (u64::from(usable) * u64::from(warmth.min(100)) / 100).max(1);
    let kept = burst - u32::try_from(usable).unwrap_or(burst).min(burst);
    match missing.available(now).saturating_sub(kept) {
        0 => Err(SiteHold { why: NotAsked::Budget, until: missing.ready_at(kept + 1) }),
        left => Ok(left),
    }
}
