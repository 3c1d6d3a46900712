//! Check: is a source IP on a block list?

use std::net::IpAddr;

use probity_engine::net::real::reverse_name;
use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};

use super::{Check, DoctorInputs};

/// Reply of one block list.
#[derive(Debug, PartialEq, Eq)]
enum Listed {
    No,
    Yes(String),
    /// The list does not answer us; lists reject public resolvers and heavy users.
    Refused,
    Failed,
}

pub(super) async fn checks(patient: &DoctorInputs) -> Vec<Check> {
    let mut checks = Vec::new();
    for address in patient.settings.engine.sources.iter().filter_map(|source| source.public) {
        for list in &patient.settings.doctor.block_lists {
            let query = query(address, list);
            let answer = patient.net.lookup(&query, QueryKind::A).await.answer;
            checks.push(report(address, list, read(&answer)));
        }
    }
    checks
}

/// Builds the query: the reversed address before the list's name (RFC 5782 section 2.1).
fn query(address: IpAddr, list: &str) -> String {
    let reversed = reverse_name(address);
    let digits = reversed.trim_end_matches(".in-addr.arpa").trim_end_matches(".ip6.arpa");
    format!("{digits}.{list}")
}

fn read(answer: &DnsAnswer) -> Listed {
    match answer {
        DnsAnswer::Empty | DnsAnswer::NoName => Listed::No,
        DnsAnswer::Failed(_) => Listed::Failed,
        DnsAnswer::Records(records) => {
            let codes = records.iter().filter_map(|record| match record {
                DnsRecord::Address(IpAddr::V4(code)) => Some(code.octets()),
                _ => None,
            });
            let mut listed = Listed::Failed;
            for code in codes {
                match code {
                    [127, 255, 255, _] => return Listed::Refused,
                    [127, b, c, d] => listed = Listed::Yes(format!("127.{b}.{c}.{d}")),
                    // RFC 5782 section 2.1: an answer outside 127/8 is not a listing (a parked or hijacked name).
                    _ => {}
                }
            }
            listed
        }
    }
}

fn report(address: IpAddr, list: &str, listed: Listed) -> Check {
    let name = format!("block list {list} for {address}");
    match listed {
        Listed::No => Check::ok(name, "not listed"),
        Listed::Yes(code) => {
            let advice = format!(
                "mail servers that use {list} refuse probes from this address; follow the removal procedure on its \
                 website"
            );
            Check::fail(name, format!("listed ({code})"), advice)
        }
        Listed::Refused => {
            let advice = "set dns.nameservers to a resolver of your own: block lists refuse public ones";
            Check::warn(name, "the list refuses this resolver", advice)
        }
        Listed::Failed => Check::warn(
            name,
            "no usable response",
            "run the check again; if it stays so, remove the list from doctor.block_lists",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_lists_mean_them() {
        let listed = |codes: &[[u8; 4]]| {
            let records = codes.iter().map(|code| DnsRecord::Address(IpAddr::from(*code))).collect();
            read(&DnsAnswer::Records(records))
        };
        assert_eq!(read(&DnsAnswer::NoName), Listed::No);
        assert_eq!(listed(&[[127, 0, 0, 2]]), Listed::Yes("127.0.0.2".into()));
        assert_eq!(listed(&[[127, 255, 255, 254]]), Listed::Refused);
        assert_eq!(listed(&[[192, 0, 2, 1]]), Listed::Failed);
        assert_eq!(read(&DnsAnswer::Failed(probity_mail::dns::DnsFailure::TimedOut)), Listed::Failed);
    }

    #[test]
    fn addresses_are_turned_round() {
        assert_eq!(query(IpAddr::from([192, 0, 2, 1]), "bl.test"), "1.2.0.192.bl.test");
        let six: IpAddr = "2001:db8::1".parse().unwrap();
        assert!(query(six, "bl.test").ends_with("8.b.d.0.1.0.0.2.bl.test"));
    }
}
