//! Domains for load tests, computed from their names: 10,000 of them use no more memory than one.
//!
//! Domain number n is `dNNNN.load.test` (at least four digits), its MX host `mx.dNNNN.load.test`, the host's address 11.128.0.0 + n
//! (127.128.0.0 + n on loopback). The MX hosts are honest and pipeline; the usual stable hash decides which mailboxes exist
//! ([`Mailboxes`]).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};

use crate::dialect::ServerDialect;
use crate::mailbox::{MailboxState, Mailboxes};
use crate::personality::Personality;
use crate::world::{Host, HostReach, World};
use crate::zone::Zone;

/// Maximum domains: half of an /8, above the addresses of other hosts.
pub const MAX_DOMAINS: u32 = 1 << 23;

/// Prefix of the local parts of [`address`]; others do not exist, as random recipients should not.
const PREFIX: &str = "user";

const BASE: u32 = 0x0b80_0000;

#[derive(Debug)]
pub(crate) struct Family {
    domains: u32,
    zone: Arc<Zone>,
    pub(crate) host: Arc<Host>,
}

impl Family {
    pub(crate) fn new(domains: u32, exists_percent: u8) -> Self {
        let host = Host {
            name: "mx.load.test".into(),
            addresses: Vec::new(),
            personality: Arc::new(Personality::default()),
            latency_ms: 0,
            reach: HostReach::Open,
            ptr: None,
            dialect: ServerDialect::named("postfix").expect("the embedded dialects have postfix"),
        };
        let zone = Zone::default().with_mailboxes(Mailboxes::percent_of(PREFIX, exists_percent));
        Self { domains: domains.min(MAX_DOMAINS), zone: Arc::new(zone), host: Arc::new(host) }
    }

    /// Number of a domain, from its name.
    fn number(&self, domain: &str) -> Option<u32> {
        let digits = domain.strip_prefix('d')?.strip_suffix(".load.test")?;
        let canonical = digits.len() == 4 || (digits.len() > 4 && !digits.starts_with('0'));
        let number = if canonical && digits.bytes().all(|b| b.is_ascii_digit()) {
            digits.parse().ok()?
        } else {
            return None;
        };
        (number < self.domains).then_some(number)
    }

    /// Mailboxes of a domain.
    pub(crate) fn zone(&self, domain: &str) -> Option<Arc<Zone>> {
        self.number(domain).map(|_| Arc::clone(&self.zone))
    }

    /// Name of the host at an address.
    pub(crate) fn host_name(&self, address: IpAddr) -> Option<String> {
        let IpAddr::V4(v4) = address else { return None };
        let number = u32::from(v4).checked_sub(BASE)?;
        (number < self.domains).then(|| format!("mx.{}", domain(number)))
    }

    /// Whether `host` (a name) is the MX host of `domain`.
    pub(crate) fn serves(&self, host: &str, domain: &str) -> bool {
        host.strip_prefix("mx.") == Some(domain) && self.number(domain).is_some()
    }

    /// Answer to a query about one of these names; `None` for other names.
    pub(crate) fn answer(&self, name: &str, kind: QueryKind) -> Option<DnsAnswer> {
        if name == "load.test" {
            return Some(DnsAnswer::Empty);
        }
        if let Some(number) = name.strip_prefix("mx.").and_then(|domain| self.number(domain)) {
            let address = DnsRecord::Address(Ipv4Addr::from(BASE + number).into());
            return Some(if kind == QueryKind::A { DnsAnswer::Records(vec![address]) } else { DnsAnswer::Empty });
        }
        self.number(name)?;
        let exchanger = DnsRecord::Mx { preference: 10, host: format!("mx.{name}") };
        Some(if kind == QueryKind::Mx { DnsAnswer::Records(vec![exchanger]) } else { DnsAnswer::Empty })
    }
}

/// Name of domain number `number`.
pub fn domain(number: u32) -> String {
    format!("d{number:04}.load.test")
}

/// Address number `i` of a list over `domains` domains: neighbors are at different domains, and no address repeats.
pub fn address(i: u64, domains: u32) -> String {
    let domains = u64::from(domains.clamp(1, MAX_DOMAINS));
    let number = u32::try_from(i % domains).unwrap_or(0);
    format!("{PREFIX}{}@{}", i / domains, domain(number))
}

/// Whether an address of [`address`] exists in a world with this percentage: the truth for a verifier to find.
pub fn exists(address: &str, exists_percent: u8) -> bool {
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    Mailboxes::percent_of(PREFIX, exists_percent).state(local, domain) == MailboxState::Exists
}

/// A world of `domains` domains (at most [`MAX_DOMAINS`]), at each of which `exists_percent` percent of local parts exist.
pub fn world(domains: u32, exists_percent: u8) -> Arc<World> {
    let family = Family::new(domains, exists_percent);
    World::builder().family(family).build().expect("no host and no personality that could be wrong")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};

    use super::{address, domain, exists, world};

    #[test]
    fn names_and_addresses_of_hosts_are_computed_both_ways() {
        let world = world(20_000, 70);
        for number in [0, 9, 9_999, 10_000, 19_999] {
            let domain = domain(number);
            let DnsAnswer::Records(mx) = world.find(&domain, QueryKind::Mx, 0).answer else { panic!("{domain}") };
            let DnsRecord::Mx { host, .. } = &mx[0] else { panic!("{mx:?}") };
            let DnsAnswer::Records(found) = world.find(host, QueryKind::A, 0).answer else { panic!("{host}") };
            let DnsRecord::Address(ip) = found[0] else { panic!("{found:?}") };
            assert_eq!(&*world.host_at(ip).unwrap().1, host);
        }
        for wrong in ["d20000.load.test", "d1.load.test", "d00001.load.test", "d+001.load.test", "x.load.test"] {
            assert_eq!(world.find(wrong, QueryKind::Mx, 0).answer, DnsAnswer::NoName, "{wrong}");
        }
    }

    #[test]
    fn addresses_do_not_repeat_and_follow_the_percentage() {
        let all: Vec<_> = (0..10_000).map(|i| address(i, 100)).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        let existing = all.iter().filter(|a| exists(a, 70)).count();
        assert!((6_800..7_200).contains(&existing), "{existing}");
    }
}
