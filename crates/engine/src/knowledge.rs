//! Knowledge that needs no probe: the lists, rules and policies of this version, and what earlier probes have shown.

pub mod facts;
pub(crate) mod memory;

use std::sync::Arc;

use probity_mail::address::{Address, AddressError};
use probity_mail::classify::Rules;
use probity_mail::domain::SpecialUse;
use probity_mail::facts::lists::Lists;
use probity_mail::plan::KnownDomain;
use probity_mail::policy::{PaceProfile, Policies, Policy};
use probity_mail::time::Millis;
use probity_mail::verdict::CatchAll;

use crate::config::{CacheTimes, ConfigError, EngineConfig};
use crate::knowledge::facts::{DomainFacts, FactStore};
use crate::knowledge::memory::VerdictCache;

pub(crate) struct Knowledge {
    pub(crate) special: SpecialUse,
    pub(crate) lists: Arc<Lists>,
    pub(crate) rules: Rules,
    policies: Policies,
    profile: PaceProfile,
    pub(crate) facts: Arc<dyn FactStore>,
    pub(crate) verdicts: VerdictCache,
    times: CacheTimes,
}

impl Knowledge {
    pub(crate) fn new(config: &EngineConfig, facts: Arc<dyn FactStore>) -> Result<Self, ConfigError> {
        Ok(Self {
            special: SpecialUse::allow(&config.special_use_allowed),
            lists: config.lists()?,
            rules: config.rules()?,
            policies: config.policies()?,
            profile: config.profile,
            facts,
            verdicts: VerdictCache::new(config.verdicts_max, config.cache),
            times: config.cache,
        })
    }

    pub(crate) fn parse(&self, email: &str) -> Result<Address, AddressError> {
        Address::parse_with(email, &self.special)
    }

    /// Probing limits of an MX host.
    pub(crate) fn policy(&self, exchanger: &str) -> Arc<Policy> {
        self.policies.for_exchanger(exchanger, self.profile)
    }

    /// What is known about a domain at one of its MX hosts before a probe.
    pub(crate) async fn of_domain(&self, domain: &str, host: &str, now: Millis) -> KnownDomain {
        let facts = self.facts.recall(domain, host).await;
        let remembered = match facts.catch_all {
            Some((yes, until)) if until > now => Some(if yes { CatchAll::Yes } else { CatchAll::No }),
            _ => None,
        };
        let shipped = self.lists.known_not_catch_all(domain).then_some(CatchAll::No);
        KnownDomain {
            catch_all: shipped.or(remembered).unwrap_or_default(),
            accepts_others: facts.accepted_until.is_some_and(|until| until > now),
        }
    }

    /// Facts that a probe has added to what was known before. A contradicted fact is removed: it expires now. `refused` if a
    /// recipient was missing, so that the domain is no catch-all; `accepts_others` if the probe ended with that knowledge.
    pub(crate) fn learned(
        &self,
        before: KnownDomain,
        catch_all: CatchAll,
        refused: bool,
        accepts_others: bool,
        now: Millis,
    ) -> DomainFacts {
        let catch_all = match catch_all {
            CatchAll::Yes if refused => Some((true, now)),
            CatchAll::Suspect => Some((false, now)),
            CatchAll::Yes if before.catch_all != catch_all => Some((true, now + self.times.catch_all_yes_ms)),
            CatchAll::No if before.catch_all != catch_all => Some((false, now + self.times.catch_all_no_ms)),
            CatchAll::Yes | CatchAll::No | CatchAll::Unknown => None,
        };
        let newly_accepts = accepts_others && !before.accepts_others;
        DomainFacts { catch_all, accepted_until: newly_accepts.then_some(now + self.times.accepted_ms) }
    }
}
