//! What the DNS says about a domain's mail.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use crate::verdict::MxHost;

/// What is asked of the DNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryKind {
    /// Mail exchangers.
    Mx,
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Texts (SPF; only the doctor asks).
    Txt,
    /// Names of an address (only the doctor asks).
    Ptr,
}

/// One record of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DnsRecord {
    /// A mail exchanger; the host is an absolute name in lower-case A-labels without the last dot (`""` is the root).
    Mx {
        /// Lower is asked first.
        preference: u16,
        /// The exchanger's name.
        host: String,
    },
    /// An address.
    Address(IpAddr),
    /// A text, its strings joined.
    Txt(String),
    /// A name.
    Ptr(String),
}

/// Why an answer is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DnsFailure {
    /// No answer in time.
    TimedOut,
    /// SERVFAIL.
    ServFail,
    /// REFUSED or another code that says nothing about the name.
    Refused,
    /// An answer that cannot be read, a CNAME loop or a chain that is too long.
    Malformed,
    /// Our own limit (a zone's query budget, too many queries in flight).
    Overload,
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsAnswer {
    /// At least one record of the kind that was asked for.
    Records(Vec<DnsRecord>),
    /// The name exists and has no such record (NODATA).
    Empty,
    /// The name does not exist (NXDOMAIN).
    NoName,
    /// The name is an alias, and the one that it leads to does not exist (RFC 6604 §3). What is under the name may exist.
    NoTarget,
    /// It could not be found out.
    Failed(DnsFailure),
}

/// An answer with the time for which it may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsLookup {
    /// What was answered.
    pub answer: DnsAnswer,
    /// The lifetime in milliseconds, negative answers included; 0 for failures.
    pub ttl_ms: i64,
}

/// Longest host name, without the root.
const HOST_MAX: usize = 253;

/// Who takes a domain's mail, as its MX answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailRoute {
    /// These hosts, best preference first; equal preferences in the order of the answer. May be empty: records there are,
    /// but none names a host that could take mail.
    Exchangers(Vec<MxHost>),
    /// The domain's own addresses: there is no MX record (RFC 5321 §5.1).
    Implicit,
    /// The domain says that it takes no mail (RFC 7505).
    NullMx,
    /// The domain does not exist.
    NoDomain,
    /// It could not be found out.
    Failed(DnsFailure),
}

/// Reads the answer to an MX question. `usable` says whether a name may be an exchanger: special-use names may not.
pub fn mail_route(mx: &DnsAnswer, usable: impl Fn(&str) -> bool) -> MailRoute {
    let records = match mx {
        DnsAnswer::Records(records) => records,
        DnsAnswer::Empty => return MailRoute::Implicit,
        DnsAnswer::NoName | DnsAnswer::NoTarget => return MailRoute::NoDomain,
        DnsAnswer::Failed(failure) => return MailRoute::Failed(*failure),
    };
    // RFC 7505 §3: exactly one record, preference 0, the root as its host. A root among others is no host, and no null MX.
    if let [DnsRecord::Mx { preference: 0, host }] = records.as_slice()
        && host.is_empty()
    {
        return MailRoute::NullMx;
    }
    let mut hosts: Vec<MxHost> = records
        .iter()
        .filter_map(|record| match record {
            DnsRecord::Mx { preference, host } if is_host_name(host) && usable(host) => {
                Some(MxHost { preference: *preference, host: Arc::from(host.as_str()) })
            }
            _ => None,
        })
        .collect();
    hosts.sort_by_key(|mx| mx.preference);
    // The same host twice is one host: it is asked at its best preference.
    let mut seen = BTreeSet::new();
    hosts.retain(|mx| seen.insert(mx.host.clone()));
    MailRoute::Exchangers(hosts)
}

/// Returns the MX records that name no host that could take mail, such as an address, best preference first. For people.
pub fn faulty_mx(mx: &DnsAnswer, usable: impl Fn(&str) -> bool) -> Vec<MxHost> {
    let DnsAnswer::Records(records) = mx else { return Vec::new() };
    let faulty = |host: &str| !(host.is_empty() || is_host_name(host) && usable(host));
    let shown = |byte: char| if byte.is_ascii_graphic() { byte } else { '?' };
    let mut hosts: Vec<MxHost> = records
        .iter()
        .filter_map(|record| match record {
            DnsRecord::Mx { preference, host } if faulty(host) => {
                let host = host.chars().take(HOST_MAX).map(shown).collect::<String>();
                Some(MxHost { preference: *preference, host: host.into() })
            }
            _ => None,
        })
        .collect();
    hosts.sort_by(|one, other| (one.preference, &one.host).cmp(&(other.preference, &other.host)));
    hosts.dedup();
    hosts
}

/// Whether an MX record names a host. An address, with or without brackets, is none (RFC 1035 §3.3.9 wants a domain name), nor
/// is a name with a port, and neither is a single label: it would be looked up within whatever network we sit in.
fn is_host_name(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    host.contains('.')
        && !last.is_empty()
        && !last.bytes().all(|b| b.is_ascii_digit())
        && host.bytes().all(is_name)
        && host.len() <= HOST_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mx(records: &[(u16, &str)]) -> DnsAnswer {
        let record =
            |(preference, host): &(u16, &str)| DnsRecord::Mx { preference: *preference, host: (*host).to_owned() };
        DnsAnswer::Records(records.iter().map(record).collect())
    }

    fn hosts(answer: &DnsAnswer) -> Vec<String> {
        match mail_route(answer, |host| host != "mail.internal") {
            MailRoute::Exchangers(hosts) => hosts.iter().map(|mx| mx.host.to_string()).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn null_mx_is_one_record_of_preference_0_and_the_root() {
        assert_eq!(mail_route(&mx(&[(0, "")]), |_| true), MailRoute::NullMx);
        assert_eq!(hosts(&mx(&[(10, "")])), Vec::<String>::new());
        assert_eq!(hosts(&mx(&[(0, "mx.example.com")])), ["mx.example.com"]);
        assert_eq!(hosts(&mx(&[(0, ""), (0, "mx.example.com")])), ["mx.example.com"]);
        assert_eq!(hosts(&mx(&[(0, ""), (0, "")])), Vec::<String>::new());
    }

    #[test]
    fn exchangers_come_in_the_order_of_preference_and_once() {
        let answer = mx(&[(20, "b.example.com"), (10, "a.example.com"), (30, "a.example.com"), (10, "c.example.com")]);
        assert_eq!(hosts(&answer), ["a.example.com", "c.example.com", "b.example.com"]);
    }

    #[test]
    fn what_cannot_be_an_exchanger_is_left_out() {
        let answer = mx(&[(1, "192.0.2.1"), (2, "localhost"), (3, "mail.internal"), (4, "mx.example.com")]);
        assert_eq!(hosts(&answer), ["mx.example.com"]);
        let faulty = faulty_mx(&answer, |host| host != "mail.internal");
        let shown: Vec<_> = faulty.iter().map(|mx| (mx.preference, &*mx.host)).collect();
        assert_eq!(shown, [(1, "192.0.2.1"), (2, "localhost"), (3, "mail.internal")]);
        for host in [
            "[192.0.2.1]",
            "[ipv6:2001:db8::1]",
            "2001:db8::192.0.2.1",
            "mx.example.com:25",
            "ann@mx.example.com",
            "smtp://mx.example.com",
            "mx.example.com,",
            "mx one.example.com",
        ] {
            assert_eq!(hosts(&mx(&[(1, host), (2, "mx_2.example.com")])), ["mx_2.example.com"], "{host}");
            assert_eq!(faulty_mx(&mx(&[(1, host)]), |_| true).len(), 1, "{host}");
        }
        let faulty = faulty_mx(&mx(&[(9, "b\u{1b}\u{e4}"), (0, ""), (5, "10.0.0.1"), (5, "10.0.0.1")]), |_| true);
        let shown: Vec<_> = faulty.iter().map(|mx| (mx.preference, &*mx.host)).collect();
        assert_eq!(shown, [(5, "10.0.0.1"), (9, "b??")]);
    }

    #[test]
    fn the_other_answers_are_told_apart() {
        let route = |answer| mail_route(&answer, |_| true);
        assert_eq!(route(DnsAnswer::Empty), MailRoute::Implicit);
        assert_eq!(route(DnsAnswer::NoName), MailRoute::NoDomain);
        assert_eq!(route(DnsAnswer::NoTarget), MailRoute::NoDomain);
        assert_eq!(route(DnsAnswer::Failed(DnsFailure::ServFail)), MailRoute::Failed(DnsFailure::ServFail));
    }
}
