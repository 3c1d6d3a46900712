//! Builds a world, by calls or from a TOML world file (`docs/sandbox.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use serde::Deserialize;

use super::{Host, HostReach, World};
use crate::dialect::{Phrase, ServerDialect};
use crate::load::Family;
use crate::mailbox::Mailboxes;
use crate::personality::{Personality, preset_table};
use crate::zone::Zone;

/// Reason why a world cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The file is not TOML, or a key or value is invalid.
    #[error("the world file: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A personality that is neither in the file nor a preset.
    #[error("no personality is called {0:?}")]
    UnknownPersonality(String),
    /// A dialect missing from the data.
    #[error("no dialect is called {0:?}")]
    UnknownDialect(String),
    /// A refusal's text is neither a phrase nor a reply.
    #[error("a refusal's text is the name of a phrase or a reply such as \"550 5.7.1 no\", not {0:?}")]
    RefusalText(String),
    /// Two hosts with one address.
    #[error("two hosts have the address {0}")]
    SharedAddress(IpAddr),
    /// More hosts without addresses than their address block holds.
    #[error("too many hosts")]
    TooManyHosts,
}

/// Host before its address is assigned.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostPlan {
    /// Name of a personality: a preset, or one of the world file.
    pub personality: String,
    /// Addresses; one is assigned if empty.
    pub addresses: Vec<IpAddr>,
    /// Round-trip time in milliseconds.
    pub latency_ms: u32,
    pub reach: HostReach,
    /// Name in the PTR record.
    pub ptr: Option<String>,
}

impl Default for HostPlan {
    fn default() -> Self {
        Self {
            personality: "honest".to_owned(),
            addresses: Vec::new(),
            latency_ms: 0,
            reach: HostReach::Open,
            ptr: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    dns_latency_ms: u32,
    zones: BTreeMap<String, Zone>,
    hosts: BTreeMap<String, HostPlan>,
    personalities: BTreeMap<String, toml::Table>,
    load: Option<LoadPlan>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadPlan {
    domains: u32,
    exists_percent: u8,
}

/// Collects names and hosts.
#[derive(Debug, Default)]
pub struct Builder {
    zones: BTreeMap<String, Zone>,
    hosts: BTreeMap<String, (HostPlan, Option<Personality>)>,
    personalities: BTreeMap<String, Personality>,
    family: Option<Family>,
    dns_latency_ms: u32,
}

impl Builder {
    /// Adds the content of a world file.
    pub fn file(mut self, text: &str) -> Result<Self, WorldError> {
        let file: File = toml::from_str(text)?;
        for (name, table) in file.personalities {
            let personality = inherit(table)?;
            self.personalities.insert(name, personality);
        }
        self.zones.extend(file.zones.into_iter().map(|(name, zone)| (absolute(&name), zone)));
        self.hosts.extend(file.hosts.into_iter().map(|(name, plan)| (absolute(&name), (plan, None))));
        self.dns_latency_ms = file.dns_latency_ms;
        if let Some(load) = file.load {
            self.family = Some(Family::new(load.domains, load.exists_percent));
        }
        Ok(self)
    }

    /// Adds a name.
    #[must_use]
    pub fn zone(mut self, name: &str, zone: Zone) -> Self {
        self.zones.insert(absolute(name), zone);
        self
    }

    /// Adds a host with its own personality.
    #[must_use]
    pub fn host(self, name: &str, personality: Personality) -> Self {
        self.host_with(name, personality, HostPlan::default())
    }

    /// Adds a host with addresses, latency and so on; ignores the plan's personality name.
    #[must_use]
    pub fn host_with(mut self, name: &str, personality: Personality, plan: HostPlan) -> Self {
        self.hosts.insert(absolute(name), (plan, Some(personality)));
        self
    }

    /// Adds a domain with these mailboxes, and its MX host `mx.` + domain.
    #[must_use]
    pub fn site(self, domain: &str, mailboxes: Mailboxes, personality: Personality) -> Self {
        let exchanger = format!("mx.{domain}");
        self.zone(domain, Zone::served_by(&[&exchanger]).with_mailboxes(mailboxes)).host(&exchanger, personality)
    }

    /// Adds the computed domains of a load test.
    #[must_use]
    pub(crate) fn family(mut self, family: Family) -> Self {
        self.family = Some(family);
        self
    }

    /// Sets the delay of DNS answers, in milliseconds.
    #[must_use]
    pub fn dns_latency_ms(mut self, latency_ms: u32) -> Self {
        self.dns_latency_ms = latency_ms;
        self
    }

    /// Assigns addresses to hosts and checks names.
    pub fn build(self) -> Result<Arc<World>, WorldError> {
        let mut hosts = BTreeMap::new();
        let mut by_address = BTreeMap::new();
        let mut given = (1..=u16::MAX).map(|n| IpAddr::V4(Ipv4Addr::from(0x0b01_0000 + u32::from(n))));
        for (name, (plan, own)) in self.hosts {
            let personality = match own {
                Some(personality) => personality,
                None => personality(&self.personalities, &plan.personality)?,
            };
            let host = Arc::new(settle(&name, plan, personality, &mut given)?);
            for address in &host.addresses {
                if by_address.insert(*address, Arc::clone(&host)).is_some() {
                    return Err(WorldError::SharedAddress(*address));
                }
            }
            hosts.insert(Arc::clone(&host.name), host);
        }
        let names = self.zones.keys().map(String::as_str).chain(hosts.keys().map(|name| &**name));
        let parents = names.flat_map(parents).collect::<BTreeSet<_>>();
        Ok(Arc::new(World {
            zones: self.zones.into_iter().map(|(name, zone)| (name, Arc::new(zone))).collect(),
            parents,
            hosts,
            by_address,
            family: self.family,
            dns_latency_ms: self.dns_latency_ms,
        }))
    }
}

fn personality(own: &BTreeMap<String, Personality>, name: &str) -> Result<Personality, WorldError> {
    own.get(name)
        .cloned()
        .or_else(|| Personality::preset(name))
        .ok_or_else(|| WorldError::UnknownPersonality(name.to_owned()))
}

/// A personality from its table; `base` names a preset whose keys it overrides.
fn inherit(mut table: toml::Table) -> Result<Personality, WorldError> {
    let Some(base) = table.remove("base") else {
        return Ok(table.try_into()?);
    };
    let base = base.as_str().unwrap_or_default();
    let mut whole = preset_table(base).cloned().ok_or_else(|| WorldError::UnknownPersonality(base.to_owned()))?;
    whole.extend(table);
    Ok(whole.try_into()?)
}

fn settle(
    name: &str,
    plan: HostPlan,
    personality: Personality,
    given: &mut impl Iterator<Item = IpAddr>,
) -> Result<Host, WorldError> {
    let dialect = ServerDialect::named(&personality.dialect)
        .ok_or_else(|| WorldError::UnknownDialect(personality.dialect.clone()))?;
    check_refusals(&personality)?;
    let mut addresses = plan.addresses;
    if addresses.is_empty() {
        addresses.push(given.next().ok_or(WorldError::TooManyHosts)?);
    }
    Ok(Host {
        name: name.into(),
        addresses,
        personality: Arc::new(personality),
        latency_ms: plan.latency_ms,
        reach: plan.reach,
        ptr: plan.ptr,
        dialect,
    })
}

fn check_refusals(personality: &Personality) -> Result<(), WorldError> {
    let is_reply = |text: &str| text.as_bytes().iter().take(3).filter(|b| b.is_ascii_digit()).count() == 3;
    match personality.refusals.iter().find(|r| Phrase::named(&r.text).is_none() && !is_reply(&r.text)) {
        Some(refusal) => Err(WorldError::RefusalText(refusal.text.clone())),
        None => Ok(()),
    }
}

fn absolute(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// All parent names of a name.
fn parents(name: &str) -> Vec<String> {
    name.match_indices('.').map(|(dot, _)| name[dot + 1..].to_owned()).collect()
}
