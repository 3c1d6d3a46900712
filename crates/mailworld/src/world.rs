//! The description of a simulated internet: names, exchangers, mailboxes. Immutable; a run of it is
//! [`MemoryNet`](crate::MemoryNet) or [`LoopbackWorld`](crate::LoopbackWorld).
//!
//! Hosts without an address of their own get one from 11.1.0.0/16: ordinary global addresses, so that a guard against
//! special-use addresses lets them through. Nothing is ever sent there: in memory nothing is sent at all, and on loopback
//! 11.x.y.z is served, and announced by the DNS, as 127.x.y.z.

mod build;
mod lookup;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde::Deserialize;

pub use self::build::{Builder, HostPlan, WorldError};
use self::lookup::MAX_CHAIN;
pub(crate) use self::lookup::{Found, reverse};
use crate::dialect::Dialect;
use crate::load::Family;
use crate::mailbox::MailboxState;
use crate::personality::Personality;
use crate::zone::Zone;

/// Whether a host can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// It listens.
    #[default]
    Open,
    /// Nothing listens. (On loopback the connection is reset right after it was opened.)
    Refused,
    /// Nothing answers. (On loopback the connection opens and stays silent.)
    Silent,
    /// There is no route. (On loopback as refused.)
    Unreachable,
}

/// A mail exchanger.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name in lower case without the last dot; the banner shows it.
    pub name: Arc<str>,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// How it behaves.
    pub personality: Arc<Personality>,
    /// One round trip to it, in milliseconds: waited for once for each flight of commands.
    pub latency_ms: u32,
    /// Whether it can be reached.
    pub reach: Reach,
    /// The name in the PTR record of its addresses; none: its own.
    pub ptr: Option<String>,
    pub(crate) dialect: Arc<Dialect>,
}

/// A simulated internet.
#[derive(Debug)]
pub struct World {
    pub(crate) zones: BTreeMap<String, Arc<Zone>>,
    /// Names that exist because something below them does (RFC 8020).
    pub(crate) parents: BTreeSet<String>,
    pub(crate) hosts: BTreeMap<Arc<str>, Arc<Host>>,
    pub(crate) by_address: BTreeMap<IpAddr, Arc<Host>>,
    pub(crate) family: Option<Family>,
    /// How long a DNS answer takes, in milliseconds.
    pub(crate) dns_latency_ms: u32,
}

/// What an exchanger knows of a recipient's domain.
#[derive(Clone, Debug)]
pub(crate) enum Responsible {
    /// It takes the domain's mail.
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
    /// An empty world to be filled.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<&Arc<Host>> {
        self.hosts.get(name)
    }

    /// The zones, by name.
    pub fn zones(&self) -> impl Iterator<Item = (&str, &Zone)> {
        self.zones.iter().map(|(name, zone)| (name.as_str(), &**zone))
    }

    /// The host at an address, with the name it shows.
    pub(crate) fn host_at(&self, address: IpAddr) -> Option<(Arc<Host>, Arc<str>)> {
        if let Some(host) = self.by_address.get(&address) {
            return Some((Arc::clone(host), Arc::clone(&host.name)));
        }
        let family = self.family.as_ref()?;
        let name = family.host_name(address)?;
        Some((Arc::clone(&family.host), name.into()))
    }

    /// Whether the exchanger `host` takes mail for `domain` (both lower case).
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
        // An exchanger's name that is an alias, or a second name of the host's address.
        let Some(zone) = self.zones.get(exchanger) else {
            return false;
        };
        zone.cname.as_deref() == Some(host)
            || self.hosts.get(host).is_some_and(|host| host.addresses.iter().any(|a| zone.addresses.contains(a)))
    }

    /// The zone that holds a domain's mailboxes, aliases followed.
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
