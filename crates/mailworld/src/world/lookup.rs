//! Answers queries about names, following aliases like a recursive resolver.

use std::net::IpAddr;

use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, DnsRecord, QueryKind};

use super::World;
use crate::zone::{DnsFault, Zone};

/// Maximum aliases followed. Resolvers give up between 8 and 16.
pub(crate) const MAX_CHAIN: usize = 10;

/// Lifetime of failures and of undescribed names, in seconds.
const NEGATIVE_TTL_S: u32 = 300;

/// Result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ZoneAnswer {
    /// Aliases followed: owner and target.
    pub chain: Vec<(String, String)>,
    /// Final answer.
    pub answer: DnsAnswer,
    /// Lifetime in seconds.
    pub ttl_s: u32,
}

impl ZoneAnswer {
    /// Converts it for the engine.
    pub(crate) fn lookup(self) -> DnsLookup {
        let ttl_ms = if matches!(self.answer, DnsAnswer::Failed(_)) { 0 } else { i64::from(self.ttl_s) * 1_000 };
        let is_alias = self.answer == DnsAnswer::NoName && !self.chain.is_empty();
        DnsLookup { answer: if is_alias { DnsAnswer::NoTarget } else { self.answer }, ttl_ms }
    }
}

impl World {
    /// Answers a query; `turn` counts the queries of a run, for names whose addresses rotate.
    pub(crate) fn find(&self, name: &str, kind: QueryKind, turn: u64) -> ZoneAnswer {
        let mut chain: Vec<(String, String)> = Vec::new();
        let mut at = name.to_owned();
        loop {
            let Some(zone) = self.zones.get(&at) else {
                let (answer, ttl_s) = self.undescribed(&at, kind);
                return ZoneAnswer { chain, answer, ttl_s };
            };
            if let Some(fault) = zone.fault(kind) {
                return ZoneAnswer { chain, answer: failed(fault), ttl_s: zone.ttl_s };
            }
            let Some(target) = &zone.cname else {
                let answer = self.described(&at, zone, kind, turn);
                return ZoneAnswer { chain, answer, ttl_s: zone.ttl_s };
            };
            if chain.len() == MAX_CHAIN || chain.iter().any(|(owner, _)| owner == target) || *target == at {
                return ZoneAnswer { chain, answer: DnsAnswer::Failed(DnsFailure::ServFail), ttl_s: 0 };
            }
            let owner = std::mem::replace(&mut at, target.clone());
            chain.push((owner, target.clone()));
        }
    }

    fn described(&self, name: &str, zone: &Zone, kind: QueryKind, turn: u64) -> DnsAnswer {
        let records = match kind {
            QueryKind::Mx => {
                zone.mx.iter().map(|mx| DnsRecord::Mx { preference: mx.preference, host: mx.host.clone() }).collect()
            }
            QueryKind::Txt => zone.txt.iter().cloned().map(DnsRecord::Txt).collect(),
            QueryKind::Ptr => zone.ptr.iter().cloned().map(DnsRecord::Ptr).collect(),
            QueryKind::A | QueryKind::Aaaa => {
                let host = self.hosts.get(name).map_or(&[][..], |host| &host.addresses);
                let mut records = addresses(host.iter().chain(&zone.addresses), kind);
                if zone.rotate && !records.is_empty() {
                    let index = usize::try_from(turn).unwrap_or(0) % records.len();
                    records = vec![records.swap_remove(index)];
                }
                records
            }
        };
        filled(records)
    }

    /// A name that belongs only to a host, a load test or an address, or is unknown.
    fn undescribed(&self, name: &str, kind: QueryKind) -> (DnsAnswer, u32) {
        if let Some(host) = self.hosts.get(name) {
            let records = match kind {
                QueryKind::A | QueryKind::Aaaa => addresses(host.addresses.iter(), kind),
                QueryKind::Mx | QueryKind::Txt | QueryKind::Ptr => Vec::new(),
            };
            return (filled(records), NEGATIVE_TTL_S);
        }
        if let Some(answer) = self.family.as_ref().and_then(|family| family.answer(name, kind)) {
            return (answer, NEGATIVE_TTL_S);
        }
        if let Some(host) = reverse(name).and_then(|address| self.by_address.get(&address)) {
            let name = host.ptr.clone().unwrap_or_else(|| host.name.to_string());
            let records = if kind == QueryKind::Ptr { vec![DnsRecord::Ptr(name)] } else { Vec::new() };
            return (filled(records), NEGATIVE_TTL_S);
        }
        // The world's top-level domains exist, even without a domain in them.
        let exists = self.parents.contains(name) || !name.contains('.');
        (if exists { DnsAnswer::Empty } else { DnsAnswer::NoName }, NEGATIVE_TTL_S)
    }
}

fn addresses<'a>(all: impl Iterator<Item = &'a IpAddr>, kind: QueryKind) -> Vec<DnsRecord> {
    all.filter(|address| address.is_ipv4() == (kind == QueryKind::A))
        .map(|address| DnsRecord::Address(*address))
        .collect()
}

fn filled(records: Vec<DnsRecord>) -> DnsAnswer {
    if records.is_empty() { DnsAnswer::Empty } else { DnsAnswer::Records(records) }
}

fn failed(fault: DnsFault) -> DnsAnswer {
    match fault {
        DnsFault::Nxdomain => DnsAnswer::NoName,
        DnsFault::Servfail => DnsAnswer::Failed(DnsFailure::ServFail),
        DnsFault::Refused => DnsAnswer::Failed(DnsFailure::Refused),
        DnsFault::Timeout => DnsAnswer::Failed(DnsFailure::TimedOut),
        DnsFault::Malformed => DnsAnswer::Failed(DnsFailure::Malformed),
    }
}

/// The address of a reverse name (RFC 1035 section 3.5; RFC 3596 section 2.5).
pub(crate) fn reverse(name: &str) -> Option<IpAddr> {
    if let Some(v4) = name.strip_suffix(".in-addr.arpa") {
        let mut octets = [0u8; 4];
        let mut labels = v4.split('.').rev();
        for octet in &mut octets {
            *octet = labels.next()?.parse().ok()?;
        }
        return labels.next().is_none().then_some(IpAddr::from(octets));
    }
    let v6 = name.strip_suffix(".ip6.arpa")?;
    let mut bits: u128 = 0;
    let mut count = 0;
    for label in v6.split('.').rev() {
        bits = (bits << 4) | u128::from_str_radix(label, 16).ok().filter(|nibble| *nibble < 16)?;
        count += 1;
    }
    (count == 32).then(|| IpAddr::from(bits.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use probity_mail::dns::{DnsAnswer, DnsFailure, DnsRecord, QueryKind};

    use super::reverse;
    use crate::mailbox::Mailboxes;
    use crate::personality::Personality;
    use crate::world::World;
    use crate::zone::{DnsFault, Zone};

    #[test]
    fn reverse_names() {
        assert_eq!(reverse("4.3.2.1.in-addr.arpa"), "1.2.3.4".parse().ok());
        let v6 = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
        assert_eq!(reverse(v6), "2001:db8::1".parse().ok());
        for wrong in ["3.2.1.in-addr.arpa", "5.4.3.2.1.in-addr.arpa", "256.3.2.1.in-addr.arpa", "1.ip6.arpa", "a.test"]
        {
            assert_eq!(reverse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_kind_of_answer() {
        let world = World::builder()
            .site("a.test", Mailboxes::default(), Personality::default())
            .zone("null.test", Zone::null_mx())
            .zone("dead.test", Zone::failing(DnsFault::Servfail))
            .zone("alias.test", Zone::alias("a.test"))
            .zone("loop1.test", Zone::alias("loop2.test"))
            .zone("loop2.test", Zone::alias("loop1.test"))
            .zone("half.test", Zone { address_fails: Some(DnsFault::Timeout), ..Zone::served_by(&["mx.a.test"]) })
            .build()
            .unwrap();
        let ask = |name: &str, kind| world.find(name, kind, 0).answer;
        let mx = |preference, host: &str| DnsAnswer::Records(vec![DnsRecord::Mx { preference, host: host.into() }]);
        assert_eq!(ask("a.test", QueryKind::Mx), mx(10, "mx.a.test"));
        assert_eq!(ask("a.test", QueryKind::A), DnsAnswer::Empty);
        assert_eq!(
            ask("mx.a.test", QueryKind::A),
            DnsAnswer::Records(vec![DnsRecord::Address("11.1.0.1".parse().unwrap())])
        );
        assert_eq!(ask("mx.a.test", QueryKind::Aaaa), DnsAnswer::Empty);
        assert_eq!(
            ask("1.0.1.11.in-addr.arpa", QueryKind::Ptr),
            DnsAnswer::Records(vec![DnsRecord::Ptr("mx.a.test".into())])
        );
        assert_eq!(ask("null.test", QueryKind::Mx), mx(0, ""));
        assert_eq!(ask("test", QueryKind::Mx), DnsAnswer::Empty, "an empty non-terminal exists");
        assert_eq!(ask("nobody.test", QueryKind::Mx), DnsAnswer::NoName);
        assert_eq!(ask("dead.test", QueryKind::Mx), DnsAnswer::Failed(DnsFailure::ServFail));
        assert_eq!(ask("half.test", QueryKind::A), DnsAnswer::Failed(DnsFailure::TimedOut));
        assert_eq!(ask("half.test", QueryKind::Mx), mx(10, "mx.a.test"));
        assert_eq!(ask("loop1.test", QueryKind::Mx), DnsAnswer::Failed(DnsFailure::ServFail));
        let aliased = world.find("alias.test", QueryKind::Mx, 0);
        assert_eq!(aliased.answer, mx(10, "mx.a.test"));
        assert_eq!(aliased.chain, [("alias.test".to_owned(), "a.test".to_owned())]);
    }
}
