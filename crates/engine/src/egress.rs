//! The one guard of outgoing addresses.
//!
//! Whoever answers for a domain in the DNS chooses the addresses that we dial. Without a guard that is a way into the
//! operator's own network: an exchanger at 127.0.0.1, at 10.0.0.7 or at the metadata service of a cloud. The guard looks at
//! an address as it will be dialled, after resolution, so that neither spelling nor a changing answer can get around it;
//! the engine asks it when it plans, and [`crate::net::real`] asks again immediately before it dials.
//!
//! An address is let through when a network that the operator's configuration allows contains it, or else when no network
//! of [`DENIED`] contains it and it is not one of this machine's own. Allowed networks come from configuration only, never
//! from a caller. An IPv6 address that carries an IPv4 address (NAT64, 6to4, Teredo, ISATAP, ...) must pass with both: an
//! operator behind NAT64 who allows `64:ff9b::/96` does not thereby allow `64:ff9b::7f00:1`. The prefix of a NAT64 that is
//! part of the operator's own global network cannot be told from other addresses.
//!
//! The table is our own because `IpAddr::is_global` is not stable and names no metadata services. Rejected: a list of good
//! networks; the address space that is routed changes, the special-purpose registries hardly do.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::net::Dial;

mod carried;
mod denied;

pub use denied::DENIED;

/// What an operator decides about outgoing addresses.
#[derive(Clone, Debug)]
pub struct GuardConfig {
    /// Networks that may be dialled although [`DENIED`] names them (one's own servers, tests). An own address needs an
    /// entry here as well.
    pub allow_networks: Vec<IpNet>,
    /// The addresses of this machine: those it binds and those under which the world sees it.
    pub own_addresses: Vec<IpAddr>,
    /// The only port that may be dialled: 25 (RFC 5321 section 4.5.4.2) outside tests.
    pub port: u16,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self { allow_networks: Vec::new(), own_addresses: Vec::new(), port: 25 }
    }
}

/// Why an address is not dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Why {
    /// It lies in a network of [`DENIED`]; the text says which use the network has.
    #[error("special-purpose address: {0}")]
    Special(&'static str),
    /// It is an address of this machine.
    #[error("an address of this machine")]
    Own,
    /// It is not the port of the configuration.
    #[error("not the port for mail")]
    Port,
}

/// A refusal to dial. For the operator's log; callers learn no details (they would be a port scanner's map).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{address} is not dialled: {why}")]
pub struct Refusal {
    /// The address in its canonical form.
    pub address: IpAddr,
    /// The rule that refused it.
    pub why: Why,
}

/// The guard: a value built once from configuration, shared by all who dial.
#[derive(Clone, Debug)]
pub struct Guard {
    config: GuardConfig,
}

impl Guard {
    /// A guard by this configuration.
    pub fn new(mut config: GuardConfig) -> Self {
        for address in &mut config.own_addresses {
            *address = address.to_canonical();
        }
        Self { config }
    }

    /// Whether the address may be dialled. IPv4-mapped IPv6 addresses count as the IPv4 address.
    pub fn allows(&self, address: IpAddr) -> Result<(), Refusal> {
        self.judge(address.to_canonical(), &[])
    }

    /// Whether the port may be dialled. The address is only for the message.
    pub fn allows_port(&self, address: IpAddr, port: u16) -> Result<(), Refusal> {
        if port == self.config.port {
            return Ok(());
        }
        Err(Refusal { address: address.to_canonical(), why: Why::Port })
    }

    /// Whether this may be dialled: address and port, the addresses of the dialling source among our own.
    pub fn allows_dial(&self, dial: &Dial) -> Result<(), Refusal> {
        self.allows_port(dial.address, dial.port)?;
        let ours = [dial.source.bind, dial.source.public].map(|own| own.map(|own| own.to_canonical()));
        self.judge(dial.address.to_canonical(), &ours)
    }

    /// `address` is canonical; `more_own` are own addresses beside those of the configuration.
    fn judge(&self, address: IpAddr, more_own: &[Option<IpAddr>]) -> Result<(), Refusal> {
        let refuse = |why| Err(Refusal { address, why });
        let allowed = self.config.allow_networks.iter().find(|network| network.contains(&address));
        if allowed.is_none() {
            if let Some(use_of) = special_use(address) {
                return refuse(Why::Special(use_of));
            }
            if self.config.own_addresses.contains(&address) || more_own.contains(&Some(address)) {
                return refuse(Why::Own);
            }
        }
        if let IpAddr::V6(v6) = address {
            for inner in carried::by(v6, allowed.map_or(128, IpNet::prefix_len)) {
                if let Err(Refusal { why, .. }) = self.judge(IpAddr::V4(inner), more_own) {
                    return refuse(why);
                }
            }
        }
        Ok(())
    }
}

/// The use of the first network of [`DENIED`] that contains the address.
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
