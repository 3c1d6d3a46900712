//! MX hosts of a domain and their addresses, in the order of attempts.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use super::{HostOwner, ProbeAction};
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
pub(super) struct HostProgress {
    pub(super) mx: MxHost,
    policy: Arc<Policy>,
    pub(super) owner: HostOwner,
    state: HostPhase,
    /// It said that another host is responsible for a recipient.
    pub(super) sent_on: bool,
    /// It accepted a recipient.
    pub(super) accepted: bool,
    /// It refused recipients, and was left to ask others about them.
    pub(super) refuses: bool,
}

impl HostProgress {
    fn new(mx: &MxHost, policy: Arc<Policy>, owner: HostOwner) -> Self {
        let state = if policy.mode == Mode::Never { HostPhase::Barred } else { HostPhase::Unknown };
        Self { mx: mx.clone(), policy, owner, state, sent_on: false, accepted: false, refuses: false }
    }

    /// Whether it has no address, by authority.
    pub(super) fn has_no_address(&self) -> bool {
        matches!(self.state, HostPhase::Nothing)
    }
}

#[derive(Debug)]
pub(super) struct Hosts {
    pub(super) list: Vec<HostProgress>,
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
    /// `policies` and `owners` in the order of `exchangers`.
    pub(super) fn new(
        exchangers: &[MxHost],
        policies: Vec<Arc<Policy>>,
        owners: Vec<HostOwner>,
        rng: &mut Rng,
    ) -> Self {
        let hosts = exchangers.iter().zip(policies).zip(owners);
        let mut list: Vec<HostProgress> =
            hosts.map(|((mx, policy), owner)| HostProgress::new(mx, policy, owner)).collect();
        // RFC 5321 §5.1: equal preferences are taken in random order, to share the load. One owner's come before another's, those
        // of strangers last, so that the verdict does not depend on chance.
        rng.shuffle(&mut list);
        list.sort_by(|one, two| (one.mx.preference, &one.owner).cmp(&(two.mx.preference, &two.owner)));
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

    /// Whether another host follows the current one.
    pub(super) fn has_next(&self) -> bool {
        self.current + 1 < self.list.len()
    }

    /// Leaves the current host, whose refusals are to be confirmed.
    pub(super) fn refuse_and_skip(&mut self) {
        if let Some(host) = self.list.get_mut(self.current) {
            host.refuses = true;
        }
        self.skip_host();
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
