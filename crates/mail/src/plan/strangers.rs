//! MX hosts that may belong to strangers, because an MX record was misspelled or is out of date.
//!
//! What such a host refuses is asked at the next one, and decides nothing while the domain's other hosts are silent.

use std::sync::Arc;

use super::hosts::{HostProgress, Hosts};
use super::{ProbePlan, RecipientFate, RecipientReport, UNREACHED_MS};
use crate::classify::DialogStage;
use crate::domain::registrable;
use crate::verdict::{Mailbox, Silence, silence_token};

/// Whose an MX host is, as its name tells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostOwner {
    /// The domain's.
    Domain,
    /// A known provider's, by its id.
    Provider(Arc<str>),
    /// Somebody else's, by the registrable domain.
    Other(Arc<str>),
}

impl HostOwner {
    /// The owner of an MX host of a domain. `provider` is the id of the host's provider, if it is known.
    pub fn of(host: &str, domain: &str, provider: Option<&str>) -> Self {
        let site = registrable(host);
        match provider {
            Some(provider) => Self::Provider(provider.into()),
            None if site == registrable(domain) => Self::Domain,
            None => Self::Other(site.into()),
        }
    }
}

/// A refusal that decides only once other hosts are known to say nothing else.
#[derive(Debug)]
pub(super) struct DoubtedRefusal {
    recipient: u32,
    /// The host that gave it.
    host: usize,
    told: RecipientReport,
}

impl Hosts {
    /// Whether a host may be a stranger's: its owner has accepted nobody, and there are others' hosts that mail goes to first, or
    /// as well, which have neither sent us on nor refused too.
    fn is_outsider(&self, index: usize) -> bool {
        let Some(here) = self.list.get(index) else { return false };
        let (same, others): (Vec<_>, Vec<_>) = self.list.iter().partition(|host| host.owner == here.owner);
        let known = match here.owner {
            HostOwner::Domain => true,
            HostOwner::Provider(_) => same.len() > 1,
            HostOwner::Other(_) => false,
        };
        if known || same.iter().any(|host| host.accepted) {
            return false;
        }
        let best = same.iter().map(|host| host.mx.preference).min();
        let count = |owner: &HostOwner| {
            self.list.iter().filter(|host| Some(host.mx.preference) == best && host.owner == *owner).count()
        };
        let is_unknown = |owner: &HostOwner| matches!(owner, HostOwner::Other(_));
        let counts_as_much = |owner: &HostOwner| !is_unknown(owner) || count(owner) >= count(&here.owner);
        let is_rival = |host: &HostProgress| {
            let beside = Some(host.mx.preference) == best && is_unknown(&here.owner);
            Some(host.mx.preference) < best || beside && !host.has_no_address() && counts_as_much(&host.owner)
        };
        let rivals: Vec<_> = others.into_iter().filter(|host| is_rival(host)).collect();
        let refuses = |owner: &HostOwner| self.list.iter().any(|host| host.refuses && host.owner == *owner);
        !rivals.iter().any(|host| host.sent_on) && !rivals.iter().all(|host| refuses(&host.owner))
    }
}

impl ProbePlan {
    /// Holds refusals back that only a stranger's host gave, which has accepted nobody.
    pub(super) fn doubt_outsider(&mut self) {
        let Some(host) = self.hosts.current() else { return };
        if self.seen.accepts || !self.hosts.is_outsider(host) {
            let believed = std::mem::take(&mut self.doubted);
            return self
                .fates
                .extend(believed.into_iter().map(|held| (held.recipient, RecipientFate::Settled(held.told))));
        }
        let is_refusal = |(_, decided): &mut (u32, RecipientFate)| match decided {
            RecipientFate::Settled(RecipientReport { mailbox: Mailbox::Replied { meaning, .. }, .. }) => {
                meaning.makes_undeliverable().is_some()
            }
            _ => false,
        };
        let refused: Vec<_> = self.fates.extract_if(.., is_refusal).collect();
        let refused = refused.into_iter().filter_map(|(recipient, fate)| match fate {
            RecipientFate::Settled(told) => Some(DoubtedRefusal { recipient, host, told }),
            RecipientFate::Later { .. } => None,
        });
        self.doubted.extend(refused);
        for held in std::mem::take(&mut self.denied) {
            let told = self.report(DialogStage::Rcpt, held.reply, &held.reading);
            self.doubted.push(DoubtedRefusal { recipient: held.recipient, host, told });
        }
    }

    /// Asks the next host about recipients that a stranger's host refused. Returns whether there are any.
    pub(super) fn ask_doubted_elsewhere(&mut self) -> bool {
        if self.doubted.is_empty() || !self.hosts.has_next() {
            return false;
        }
        self.last = Some(self.silent(Silence::TimedOut, None));
        self.pending.extend(self.doubted.iter().map(|held| held.recipient));
        self.doubted_before.append(&mut self.doubted);
        self.hosts.refuse_and_skip();
        true
    }

    /// Decides what the current host refused, because it is asked nothing more.
    pub(super) fn settle_doubted(&mut self) {
        for held in std::mem::take(&mut self.doubted) {
            self.settle_refusal(held);
        }
    }

    /// Decides what hosts before refused and no later one answered.
    pub(super) fn settle_doubted_before(&mut self) {
        for held in std::mem::take(&mut self.doubted_before) {
            if let Some(place) = self.pending.iter().position(|recipient| *recipient == held.recipient) {
                self.pending.remove(place);
                self.settle_refusal(held);
            }
        }
    }

    fn settle_refusal(&mut self, DoubtedRefusal { recipient, host, told }: DoubtedRefusal) {
        if self.hosts.is_outsider(host) {
            let told = self.silent(Silence::TimedOut, None);
            self.later(recipient, told, UNREACHED_MS, silence_token(Silence::TimedOut), false);
        } else {
            self.fates.push((recipient, RecipientFate::Settled(told)));
        }
    }

    /// Forgets what a miscounting session refused, and asks again.
    pub(super) fn distrust_refusals(&mut self) {
        self.doubted_before.clear();
        for held in std::mem::take(&mut self.doubted) {
            self.ask_again(held.recipient, Some((Silence::Protocol, DialogStage::Rcpt)), None);
        }
    }
}
