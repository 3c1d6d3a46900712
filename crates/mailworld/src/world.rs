//! Description of a simulated internet: names, MX hosts, mailboxes. Immutable; [`MemoryNet`](crate::MemoryNet) or
//! [`LoopbackWorld`](crate::LoopbackWorld) runs it.
//!
//! Hosts without a given address get one from 11.1.0.0/16: ordinary global addresses, which a guard against special-use addresses
//! allows. No packets reach them: in memory there are none, and on loopback the DNS announces 11.x.y.z as 127.x.y.z, where it is
//! served.

mod build;
mod lookup;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde::Deserialize;

pub use self::build::{Builder, HostPlan, WorldError};
use self::lookup::MAX_CHAIN;
pub(crate) use self::lookup::{ZoneAnswer, reverse};
use crate::dialect::ServerDialect;
use crate::load::Family;
use crate::mailbox::MailboxState;
use crate::personality::Personality;
use crate::zone::Zone;

/// Reachability of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostReach {
    /// It listens.
    #[default]
    Open,
    /// Nothing listens. (On loopback the connection is reset right after it was opened.)
    Refused,
    /// No response. (On loopback the connection opens and stays silent.)
    Silent,
    /// No route. (On loopback as refused.)
    Unreachable,
}

/// MX host.
#[derive(Clone, Debug)]
pub struct Host {
    /// Name in lower case without the last dot; shown in the banner.
    pub name: Arc<str>,
    pub addresses: Vec<IpAddr>,
    pub personality: Arc<Personality>,
    /// Round-trip time in milliseconds, waited once per flight of commands.
    pub latency_ms: u32,
    pub reach: HostReach,
    /// Name in the PTR record of its addresses; `None` for its own.
    pub ptr: Option<String>,
    pub(crate) dialect: Arc<ServerDialect>,
}

/// A simulated internet.
#[derive(Debug)]
pub struct World {
    pub(crate) zones: BTreeMap<String, Arc<Zone>>,
    /// Names that exist because a name below them does (RFC 8020).
    pub(crate) parents: BTreeSet<String>,
    pub(crate) hosts: BTreeMap<Arc<str>, Arc<Host>>,
    pub(crate) by_address: BTreeMap<IpAddr, Arc<Host>>,
    pub(crate) family: Option<Family>,
    /// Delay of a DNS answer, in milliseconds.
    pub(crate) dns_latency_ms: u32,
}

/// An MX host's relation to a recipient's domain.
#[derive(Clone, Debug)]
pub(crate) enum Responsible {
    /// It accepts the domain's mail.
    Yes(Arc<Zone>),
    /// It does not.
    No,
}

impl Responsible {
    pub(crate) fn state(&self, local: &str, domain: &str) -> Option<MailboxState> {
        match self {
            Self::Yes(zone) => Some(zone.mailboxes.state(local, domain)),
            Self::No => None,
        }
    }
}

impl World {
    /// Starts an empty world.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub fn host(&self, name: &str) -> Option<&Arc<Host>> {
        self.hosts.get(name)
    }

    pub fn zones(&self) -> impl Iterator<Item = (&str, &Zone)> {
        self.zones.iter().map(|(name, zone)| (name.as_str(), &**zone))
    }

    /// The host at an address, with its displayed name.
    pub(crate) fn host_at(&self, address: IpAddr) -> Option<(Arc<Host>, Arc<str>)> {
        if let Some(host) = self.by_address.get(&address) {
            return Some((Arc::clone(host), Arc::clone(&host.name)));
        }
        let family = self.family.as_ref()?;
        let name = family.host_name(address)?;
        Some((Arc::clone(&family.host), name.into()))
    }

    /// Whether the MX host `host` accepts mail for `domain` (both lower case).
    pub(crate) fn responsible(&self, host: &str, domain: &str) -> Responsible {
        if let Some(family) = &self.family
            && let Some(zone) = family.zone(domain)
        {
            return if family.serves(host, domain) { Responsible::Yes(zone) } else { Responsible::No };
        }
        let Some(zone) = self.mail_zone(domain) else {
            return Responsible::No;
        };
        let serves = if zone.mx.is_empty() {
            self.hosts.get(host).is_some_and(|host| {
                *host.name == *domain || host.addresses.iter().any(|address| zone.addresses.contains(address))
            })
        } else {
            zone.mx.iter().any(|mx| self.same_host(&mx.host, host))
        };
        if serves { Responsible::Yes(zone) } else { Responsible::No }
    }

    fn same_host(&self, exchanger: &str, host: &str) -> bool {
        if exchanger == host {
            return true;
        }
        // An MX host's name that is an alias, or a second name of the host's address.
        let Some(zone) = self.zones.get(exchanger) else {
            return false;
        };
        zone.cname.as_deref() == Some(host)
            || self.hosts.get(host).is_some_and(|host| host.addresses.iter().any(|a| zone.addresses.contains(a)))
    }

    /// The zone with a domain's mailboxes, after following aliases.
    fn mail_zone(&self, domain: &str) -> Option<Arc<Zone>> {
        let mut name = domain;
        for _ in 0..MAX_CHAIN {
            let zone = self.zones.get(name)?;
            match &zone.cname {
                Some(target) => name = target,
                None => return Some(Arc::clone(zone)),
            }
        }
        None
    }
}
