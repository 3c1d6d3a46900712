//! The guard of outgoing addresses, shared by all code that dials.
//!
//! A domain's DNS owner chooses the addresses that we dial. Without a guard, that is a way into the operator's own
//! network: an MX host at 127.0.0.1, at 10.0.0.7 or at a cloud's metadata service. The guard checks an address after
//! resolution, as it will be dialed, so neither notation nor a changing answer can bypass it. The engine checks it when it
//! plans, and [`crate::net::real`] checks again immediately before it dials.
//!
//! An address passes if it is in a network that the operator's configuration allows, or else if it is neither in a network of
//! [`DENIED`] nor an address of this machine. Allowed networks come from configuration only, never from a caller. An IPv6
//! address that carries an IPv4 address (NAT64, 6to4, Teredo, ISATAP, ...) must pass with both: an operator behind NAT64 who
//! allows `64:ff9b::/96` does not thereby allow `64:ff9b::7f00:1`. The prefix of a NAT64 within the operator's own global
//! network is indistinguishable from other addresses.
//!
//! The table is our own because `IpAddr::is_global` is not stable and includes no metadata services. Rejected: a list of
//! allowed networks. The routed address space changes; the special-purpose registries hardly do.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::net::DialRequest;

mod carried;
mod denied;

pub use denied::DENIED;

/// Configuration of the guard.
#[derive(Clone, Debug)]
pub struct GuardConfig {
    /// Networks that may be dialed although [`DENIED`] lists them (own servers, tests). An address of this machine needs an entry
    /// here as well.
    pub allow_networks: Vec<IpNet>,
    /// Addresses of this machine: those it binds and its public ones.
    pub own_addresses: Vec<IpAddr>,
    /// Only port that may be dialed: 25 (RFC 5321 section 4.5.4.2) outside tests.
    pub port: u16,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self { allow_networks: Vec::new(), own_addresses: Vec::new(), port: 25 }
    }
}

/// Reason why an address is not dialed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RefusalCause {
    /// It is in a network of [`DENIED`]; the text names the network's use.
    #[error("special-purpose address: {0}")]
    Special(&'static str),
    /// It is an address of this machine.
    #[error("an address of this machine")]
    Own,
    /// It is not the configured port.
    #[error("not the port for mail")]
    Port,
}

/// Refusal to dial. For the operator's log only: details would serve callers as a port scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{address} is not dialed: {why}")]
pub struct EgressRefusal {
    /// The address in canonical form.
    pub address: IpAddr,
    /// Rule that refused it.
    pub why: RefusalCause,
}

/// The guard: built once from configuration, shared by all code that dials.
#[derive(Clone, Debug)]
pub struct EgressGuard {
    config: GuardConfig,
}

impl EgressGuard {
    pub fn new(mut config: GuardConfig) -> Self {
        for address in &mut config.own_addresses {
            *address = address.to_canonical();
        }
        Self { config }
    }

    /// Returns a guard for hosts that customers choose: of the allowed networks, it keeps those of a NAT64, through which public
    /// addresses are reached. The carried address must pass as well.
    #[must_use]
    pub fn for_customers(&self) -> Self {
        let mut config = self.config.clone();
        config.allow_networks.retain(carried::is_nat64);
        Self { config }
    }

    /// Checks an address. IPv4-mapped IPv6 addresses count as the IPv4 address.
    pub fn allows(&self, address: IpAddr) -> Result<(), EgressRefusal> {
        self.judge(address.to_canonical(), &[])
    }

    /// Checks an address of a host that the operator has named as one of the own network: private networks and this machine pass as
    /// well. What else is special does not, the metadata services of clouds among it.
    pub fn allows_own(&self, address: IpAddr) -> Result<(), EgressRefusal> {
        let address = address.to_canonical();
        let carries_other = || match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(v6) => carried::by(v6, 128).into_iter().any(|inner| !denied::is_private(IpAddr::V4(inner))),
        };
        self.judge(address, &[]).or_else(|refusal| match refusal.why {
            RefusalCause::Own => Ok(()),
            RefusalCause::Special(_) if denied::is_private(address) && !carries_other() => Ok(()),
            _ => Err(refusal),
        })
    }

    /// Checks a port. The address is only for the message.
    pub fn allows_port(&self, address: IpAddr, port: u16) -> Result<(), EgressRefusal> {
        if port == self.config.port {
            return Ok(());
        }
        Err(EgressRefusal { address: address.to_canonical(), why: RefusalCause::Port })
    }

    /// Checks address and port, counting the source's addresses as our own.
    pub fn allows_dial(&self, dial: &DialRequest) -> Result<(), EgressRefusal> {
        self.allows_port(dial.address, dial.port)?;
        let ours = [dial.source.bind, dial.source.public].map(|own| own.map(|own| own.to_canonical()));
        self.judge(dial.address.to_canonical(), &ours)
    }

    /// `address` is canonical; `more_own` adds own addresses to those of the configuration.
    fn judge(&self, address: IpAddr, more_own: &[Option<IpAddr>]) -> Result<(), EgressRefusal> {
        let refuse = |why| Err(EgressRefusal { address, why });
        let allowed = self.config.allow_networks.iter().find(|network| network.contains(&address));
        if allowed.is_none() {
            if let Some(use_of) = special_use(address) {
                return refuse(RefusalCause::Special(use_of));
            }
            if self.config.own_addresses.contains(&address) || more_own.contains(&Some(address)) {
                return refuse(RefusalCause::Own);
            }
        }
        if let IpAddr::V6(v6) = address {
            for inner in carried::by(v6, allowed.map_or(128, IpNet::prefix_len)) {
                if let Err(EgressRefusal { why, .. }) = self.judge(IpAddr::V4(inner), more_own) {
                    return refuse(why);
                }
            }
        }
        Ok(())
    }
}

/// Use of the first network of [`DENIED`] that contains the address.
fn special_use(address: IpAddr) -> Option<&'static str> {
    DENIED.iter().find(|(network, _)| network.contains(&address)).map(|(_, use_of)| *use_of)
}

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(groups: [u16; 8], prefix: u8) -> Ipv6Net {
    let g = groups;
    let address = Ipv6Addr::new(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]);
    Ipv6Net::new_assert(address, prefix)
}
