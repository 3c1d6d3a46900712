//! Answers queries about names, following aliases like a recursive resolver.

use std::net::IpAddr;

use probity_mail::dns::{Answer, DnsFailure, Kind, Lookup, Record};

use super::World;
use crate::zone::{DnsFault, Zone};

/// Maximum aliases followed. Resolvers give up between 8 and 16.
pub(crate) const MAX_CHAIN: usize = 10;

/// Lifetime of failures and of undescribed names, in seconds.
const NEGATIVE_TTL_S: u32 = 300;

/// Result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Aliases followed: owner and target.
    pub chain: Vec<(String, String)>,
    /// Final answer.
    pub answer: Answer,
    /// Lifetime in seconds.
    pub ttl_s: u32,
}

impl Found {
    /// Converts it for the engine.
    pub(crate) fn lookup(self) -> Lookup {
        let ttl_ms = if matches!(self.answer, Answer::Failed(_)) { 0 } else { i64::from(self.ttl_s) * 1_000 };
        Lookup { answer: self.answer, ttl_ms }
    }
}

impl World {
    /// Answers a query; `turn` counts the queries of a run, for names whose addresses rotate.
    pub(crate) fn find(&self, name: &str, kind: Kind, turn: u64) -> Found {
        let mut chain: Vec<(String, String)> = Vec::new();
        let mut at = name.to_owned();
        loop {
            let Some(zone) = self.zones.get(&at) else {
                let (answer, ttl_s) = self.undescribed(&at, kind);
                return Found { chain, answer, ttl_s };
            };
            if let Some(fault) = zone.fault(kind) {
                return Found { chain, answer: failed(fault), ttl_s: zone.ttl_s };
            }
            let Some(target) = &zone.cname else {
                let answer = self.described(&at, zone, kind, turn);
                return Found { chain, answer, ttl_s: zone.ttl_s };
            };
            if chain.len() == MAX_CHAIN || chain.iter().any(|(owner, _)| owner == target) || *target == at {
                return Found { chain, answer: Answer::Failed(DnsFailure::ServFail), ttl_s: 0 };
            }
            let owner = std::mem::replace(&mut at, target.clone());
            chain.push((owner, target.clone()));
        }
    }

    fn described(&self, name: &str, zone: &Zone, kind: Kind, turn: u64) -> Answer {
        let records = match kind {
            Kind::Mx => {
                zone.mx.iter().map(|mx| Record::Mx { preference: mx.preference, host: mx.host.clone() }).collect()
            }
            Kind::Txt => zone.txt.iter().cloned().map(Record::Txt).collect(),
            Kind::Ptr => zone.ptr.iter().cloned().map(Record::Ptr).collect(),
            Kind::A | Kind::Aaaa => {
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
    fn undescribed(&self, name: &str, kind: Kind) -> (Answer, u32) {
        if let Some(host) = self.hosts.get(name) {
            let records = match kind {
                Kind::A | Kind::Aaaa => addresses(host.addresses.iter(), kind),
                Kind::Mx | Kind::Txt | Kind::Ptr => Vec::new(),
            };
            return (filled(records), NEGATIVE_TTL_S);
        }
        if let Some(answer) = self.family.as_ref().and_then(|family| family.answer(name, kind)) {
            return (answer, NEGATIVE_TTL_S);
        }
        if let Some(host) = reverse(name).and_then(|address| self.by_address.get(&address)) {
            let name = host.ptr.clone().unwrap_or_else(|| host.name.to_string());
            let records = if kind == Kind::Ptr { vec![Record::Ptr(name)] } else { Vec::new() };
            return (filled(records), NEGATIVE_TTL_S);
        }
        // The world's top-level domains exist, even without a domain in them.
        let exists = self.parents.contains(name) || !name.contains('.');
        (if exists { Answer::Empty } else { Answer::NoName }, NEGATIVE_TTL_S)
    }
}

fn addresses<'a>(all: impl Iterator<Item = &'a IpAddr>, kind: Kind) -> Vec<Record> {
    all.filter(|address| address.is_ipv4() == (kind == Kind::A)).map(|address| Record::Address(*address)).collect()
}

fn filled(records: Vec<Record>) -> Answer {
    if records.is_empty() { Answer::Empty } else { Answer::Records(records) }
}

fn failed(fault: DnsFault) -> Answer {
    match fault {
        DnsFault::Nxdomain => Answer::NoName,
        DnsFault::Servfail => Answer::Failed(DnsFailure::ServFail),
        DnsFault::Refused => Answer::Failed(DnsFailure::Refused),
        DnsFault::Timeout => Answer::Failed(DnsFailure::TimedOut),
        DnsFault::Malformed => Answer::Failed(DnsFailure::Malformed),
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
    use probity_mail::dns::{Answer, DnsFailure, Kind, Record};

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
        let mx = |preference, host: &str| Answer::Records(vec![Record::Mx { preference, host: host.into() }]);
        assert_eq!(ask("a.test", Kind::Mx), mx(10, "mx.a.test"));
        assert_eq!(ask("a.test", Kind::A), Answer::Empty);
        assert_eq!(ask("mx.a.test", Kind::A), Answer::Records(vec![Record::Address("11.1.0.1".parse().unwrap())]));
        assert_eq!(ask("mx.a.test", Kind::Aaaa), Answer::Empty);
        assert_eq!(ask("1.0.1.11.in-addr.arpa", Kind::Ptr), Answer::Records(vec![Record::Ptr("mx.a.test".into())]));
        assert_eq!(ask("null.test", Kind::Mx), mx(0, ""));
        assert_eq!(ask("test", Kind::Mx), Answer::Empty, "an empty non-terminal exists");
        assert_eq!(ask("nobody.test", Kind::Mx), Answer::NoName);
        assert_eq!(ask("dead.test", Kind::Mx), Answer::Failed(DnsFailure::ServFail));
        assert_eq!(ask("half.test", Kind::A), Answer::Failed(DnsFailure::TimedOut));
        assert_eq!(ask("half.test", Kind::Mx), mx(10, "mx.a.test"));
        assert_eq!(ask("loop1.test", Kind::Mx), Answer::Failed(DnsFailure::ServFail));
        let aliased = world.find("alias.test", Kind::Mx, 0);
        assert_eq!(aliased.answer, mx(10, "mx.a.test"));
        assert_eq!(aliased.chain, [("alias.test".to_owned(), "a.test".to_owned())]);
    }
}
