//! A domain's exchangers and their addresses, in the order in which they are tried.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use super::Action;
use crate::policy::{Policy, TlsPolicy};
use crate::rng::Rng;
use crate::verdict::{Mailbox, MxHost, NotAsked};

/// Exchangers that are tried at most; those of worse preference are never looked up (a domain may list a thousand).
pub const EXCHANGERS_MAX: usize = 5;
/// Addresses of one exchanger that are tried at most, as Postfix does.
pub const ADDRESSES_PER_HOST: usize = 2;
/// Connections that are tried at most for one plan.
pub const DIALS_MAX: u32 = 10;

/// What looking up an exchanger's addresses came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Addresses that may be dialled, in the order in which they are tried.
    Addresses(Vec<IpAddr>),
    /// None, by authoritative answers: the name has no address, or only such as mail is never sent to.
    Nothing,
    /// It could not be found out.
    Failed,
}

#[derive(Debug)]
enum State {
    Unknown,
    Addresses(VecDeque<IpAddr>),
    Nothing,
    Failed,
}

#[derive(Debug)]
struct Host {
    mx: MxHost,
    policy: Arc<Policy>,
    state: State,
}

#[derive(Debug)]
pub(super) struct Hosts {
    list: Vec<Host>,
    /// There were more than [`EXCHANGERS_MAX`].
    more: bool,
    current: usize,
    dials: u32,
    /// TLS has failed at the current address.
    clear: bool,
    /// The host of the last session was left since.
    moved: bool,
}

impl Hosts {
    /// `policies` in the order of `exchangers`.
    pub(super) fn new(exchangers: &[MxHost], policies: Vec<Arc<Policy>>, rng: &mut Rng) -> Self {
        let mut list: Vec<Host> = exchangers
            .iter()
            .zip(policies)
            .map(|(mx, policy)| Host { mx: mx.clone(), policy, state: State::Unknown })
            .collect();
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

    /// The next look-up or dial; none where nothing is left to try.
    pub(super) fn next(&mut self) -> Option<Action> {
        while let Some(host) = self.list.get(self.current) {
            match &host.state {
                State::Unknown => return Some(Action::Resolve { exchanger: self.current }),
                State::Addresses(addresses) if self.dials < DIALS_MAX => {
                    if let Some(&address) = addresses.front() {
                        self.dials += 1;
                        return Some(Action::Dial { exchanger: self.current, address, clear: self.clear });
                    }
                    self.skip_host();
                }
                State::Addresses(_) | State::Nothing | State::Failed => self.skip_host(),
            }
        }
        None
    }

    pub(super) fn resolved(&mut self, exchanger: usize, found: Found) {
        self.list[exchanger].state = match found {
            Found::Addresses(addresses) if addresses.is_empty() => State::Nothing,
            Found::Addresses(addresses) => State::Addresses(addresses.into_iter().take(ADDRESSES_PER_HOST).collect()),
            Found::Nothing => State::Nothing,
            Found::Failed => State::Failed,
        };
    }

    /// Whether the same address may be dialled once more without TLS.
    pub(super) fn try_clear(&mut self) -> bool {
        let allowed = self.policy().is_some_and(|policy| policy.tls == TlsPolicy::Opportunistic);
        !std::mem::replace(&mut self.clear, true) && allowed
    }

    /// The session of the current address gave something; it may be dialled again without counting.
    pub(super) fn fruitful(&mut self) {
        self.dials = self.dials.saturating_sub(1);
    }

    /// A session with the current host stands.
    pub(super) fn linked(&mut self) {
        self.moved = false;
    }

    /// Whether an open session is with a host that is not asked any more.
    pub(super) fn moved(&self) -> bool {
        self.moved
    }

    pub(super) fn skip_address(&mut self) {
        self.clear = false;
        if let Some(Host { state: State::Addresses(addresses), .. }) = self.list.get_mut(self.current) {
            addresses.pop_front();
        }
    }

    pub(super) fn skip_host(&mut self) {
        self.clear = false;
        self.moved = true;
        self.current += 1;
    }

    /// What it means that no address was ever dialled: a fact about the domain only where every exchanger was looked up and
    /// every answer was authoritative.
    pub(super) fn unusable(&self) -> Mailbox {
        let failed = self.more || self.list.iter().any(|host| matches!(host.state, State::Failed | State::Unknown));
        if failed { Mailbox::NotAsked(NotAsked::Dns) } else { Mailbox::Unroutable("mx_unroutable") }
    }
}
