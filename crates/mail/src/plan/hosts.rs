//! MX hosts of a domain and their addresses, in the order of attempts.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use super::ProbeAction;
use crate::domain::registrable;
use crate::policy::{Mode, Policy, TlsPolicy};
use crate::rng::Rng;
use crate::verdict::{Mailbox, MxHost, NotAsked, Silence};

/// Maximum number of MX hosts; those of worse preference are never resolved (a domain may list a thousand).
pub const EXCHANGERS_MAX: usize = 5;
/// Maximum number of addresses per MX host, as in Postfix.
pub const ADDRESSES_PER_HOST: usize = 2;
/// Maximum number of connections per plan.
pub const DIALS_MAX: u32 = 10;

/// Result of resolving an MX host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedHost {
    /// Addresses to dial, in order.
    Addresses(Vec<IpAddr>),
    /// An authoritative answer without any address that mail can be sent to.
    Nothing,
    /// No authoritative answer.
    Failed,
}

#[derive(Debug)]
enum HostPhase {
    Unknown,
    Addresses(VecDeque<IpAddr>),
    Nothing,
    Failed,
    /// Its policy is not to probe it.
    Barred,
}

#[derive(Debug)]
struct HostProgress {
    mx: MxHost,
    policy: Arc<Policy>,
    state: HostPhase,
    /// It said that another host is responsible for a recipient.
    sent_on: bool,
    /// It accepted a recipient.
    accepted: bool,
}

impl HostProgress {
    fn new(mx: &MxHost, policy: Arc<Policy>) -> Self {
        let state = if policy.mode == Mode::Never { HostPhase::Barred } else { HostPhase::Unknown };
        Self { mx: mx.clone(), policy, state, sent_on: false, accepted: false }
    }
}

#[derive(Debug)]
pub(super) struct Hosts {
    list: Vec<HostProgress>,
    /// The domain has more than [`EXCHANGERS_MAX`] MX hosts.
    more: bool,
    current: usize,
    dials: u32,
    /// TLS failed at the current address.
    clear: bool,
    /// Another host is current since the last session.
    moved: bool,
}

impl Hosts {
    /// `policies` in the order of `exchangers`.
    pub(super) fn new(exchangers: &[MxHost], policies: Vec<Arc<Policy>>, rng: &mut Rng) -> Self {
        let mut list: Vec<HostProgress> =
            exchangers.iter().zip(policies).map(|(mx, policy)| HostProgress::new(mx, policy)).collect();
        // RFC 5321 §5.1: equal preferences are taken in random order, to share the load.
        rng.shuffle(&mut list);
        list.sort_by_key(|host| host.mx.preference);
        let more = list.len() > EXCHANGERS_MAX;
        list.truncate(EXCHANGERS_MAX);
        Self { list, more, current: 0, dials: 0, clear: false, moved: false }
    }

    pub(super) fn exchanger(&self, index: usize) -> (&MxHost, &Arc<Policy>) {
        let host = &self.list[index];
        (&host.mx, &host.policy)
    }

    pub(super) fn current(&self) -> Option<usize> {
        let last = self.list.len().checked_sub(1)?;
        Some(self.current.min(last))
    }

    pub(super) fn policy(&self) -> Option<&Arc<Policy>> {
        self.current().map(|index| &self.list[index].policy)
    }

    /// The next look-up or dial; `None` if nothing is left.
    pub(super) fn next(&mut self) -> Option<ProbeAction> {
        while let Some(host) = self.list.get(self.current) {
            match &host.state {
                HostPhase::Unknown => return Some(ProbeAction::Resolve { exchanger: self.current }),
                HostPhase::Addresses(addresses) if self.dials < DIALS_MAX => {
                    if let Some(&address) = addresses.front() {
                        self.dials += 1;
                        return Some(ProbeAction::Dial { exchanger: self.current, address, clear: self.clear });
                    }
                    self.skip_host();
                }
                HostPhase::Addresses(_) | HostPhase::Nothing | HostPhase::Failed | HostPhase::Barred => {
                    self.skip_host();
                }
            }
        }
        None
    }

    pub(super) fn resolved(&mut self, exchanger: usize, found: ResolvedHost) {
        self.list[exchanger].state = match found {
            ResolvedHost::Addresses(addresses) if addresses.is_empty() => HostPhase::Nothing,
            ResolvedHost::Addresses(addresses) => {
                HostPhase::Addresses(addresses.into_iter().take(ADDRESSES_PER_HOST).collect())
            }
            ResolvedHost::Nothing => HostPhase::Nothing,
            ResolvedHost::Failed => HostPhase::Failed,
        };
    }

    /// Whether the same address may be dialled once more without TLS.
    pub(super) fn try_clear(&mut self) -> bool {
        let allowed = self.policy().is_some_and(|policy| policy.tls == TlsPolicy::Opportunistic);
        !std::mem::replace(&mut self.clear, true) && allowed
    }

    /// Records that the current session brought answers; the next dial of its address does not count.
    pub(super) fn fruitful(&mut self) {
        self.dials = self.dials.saturating_sub(1);
    }

    /// Records what a flight showed: whether the current host accepted a recipient, and whether it is not responsible for one.
    pub(super) fn answered(&mut self, accepted: bool, sent_on: bool) {
        if let Some(host) = self.list.get_mut(self.current) {
            host.accepted |= accepted;
            host.sent_on |= sent_on;
        }
    }

    /// Whether the current host has accepted a recipient.
    pub(super) fn has_accepted(&self) -> bool {
        self.list.get(self.current).is_some_and(|host| host.accepted)
    }

    /// Forgets the current host's acceptances.
    pub(super) fn distrust(&mut self) {
        if let Some(host) = self.list.get_mut(self.current) {
            host.accepted = false;
        }
    }

    /// Whether the current host is a backup that no other MX host shares a registrable domain with, that has accepted nobody, and
    /// that no preferred host has sent us to: a misspelled MX record may name a host of strangers.
    pub(super) fn is_outsider(&self) -> bool {
        let Some(here) = self.list.get(self.current).filter(|here| !here.accepted) else { return false };
        let site = registrable(&here.mx.host);
        let mut others = self.list.iter().enumerate().filter(|(index, _)| *index != self.current);
        let shares_site = others.any(|(_, host)| registrable(&host.mx.host) == site);
        let mut preferred = self.list.iter().take_while(|host| host.mx.preference < here.mx.preference).peekable();
        !shares_site && preferred.peek().is_some() && preferred.all(|host| !host.sent_on)
    }

    /// Records a session with the current host.
    pub(super) fn linked(&mut self) {
        self.moved = false;
    }

    /// Whether the open session is with a host that is no longer used.
    pub(super) fn moved(&self) -> bool {
        self.moved
    }

    pub(super) fn skip_address(&mut self) {
        self.clear = false;
        if let Some(HostProgress { state: HostPhase::Addresses(addresses), .. }) = self.list.get_mut(self.current) {
            addresses.pop_front();
        }
    }

    pub(super) fn skip_host(&mut self) {
        self.clear = false;
        self.moved = true;
        self.current += 1;
    }

    /// Meaning of a plan that no host is left for and no host's failure ended. It is a fact about the domain only if no MX host has
    /// an address, by authority. A host with one has ended sessions until there were too many.
    pub(super) fn unusable(&self) -> Mailbox {
        let any = |is: fn(&HostPhase) -> bool| self.list.iter().any(|host| is(&host.state));
        if any(|state| matches!(state, HostPhase::Addresses(_))) {
            Mailbox::Silent(Silence::Closed)
        } else if self.more || any(|state| matches!(state, HostPhase::Failed | HostPhase::Unknown)) {
            Mailbox::NotAsked(NotAsked::Dns)
        } else if any(|state| matches!(state, HostPhase::Barred)) {
            Mailbox::NotAsked(NotAsked::Opaque)
        } else {
            Mailbox::Unroutable("mx_unroutable")
        }
    }
}
