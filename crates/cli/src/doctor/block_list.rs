//! Check: is a source IP on a block list?

use std::net::IpAddr;

use probity_engine::net::real::reverse_name;
use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};

use super::{Check, DoctorInputs};

pub(super) async fn checks(patient: &DoctorInputs) -> Vec<Check> {
    let mut checks = Vec::new();
    for address in patient.settings.engine.sources.iter().filter_map(|source| source.public) {
        for list in &patient.settings.sections.doctor.block_lists {
            let query = query(address, list);
            let answer = patient.net.lookup(&query, QueryKind::A).await.answer;
            checks.push(report(address, list, &answer));
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

/// Reads the reply of one block list.
fn report(address: IpAddr, list: &str, answer: &DnsAnswer) -> Check {
    let name = format!("block list {list} for {address}");
    let records = match answer {
        DnsAnswer::Empty | DnsAnswer::NoName | DnsAnswer::NoTarget => return Check::ok(name, "not listed"),
        DnsAnswer::Failed(_) => &[][..],
        DnsAnswer::Records(records) => records,
    };
    // RFC 5782 section 2.1: an answer outside 127/8 is not a listing (a parked or hijacked name).
    let mut codes = records.iter().filter_map(|record| match record {
        DnsRecord::Address(IpAddr::V4(code)) if code.is_loopback() => Some(code),
        _ => None,
    });
    // Lists reject public resolvers and heavy users.
    if codes.clone().any(|code| matches!(code.octets(), [_, 255, 255, _])) {
        let advice = "set dns.nameservers to a resolver of your own: block lists refuse public ones";
        return Check::warn(name, "the list refuses this resolver", advice).with_config(super::NAMESERVERS);
    }
    let Some(code) = codes.next_back() else {
        let advice = "run the check again; if it fails again, remove the list from doctor.block_lists";
        return Check::warn(name, "no usable response", advice);
    };
    let advice = format!(
        "mail servers that use {list} refuse probes from this address; follow the removal procedure on its website"
    );
    Check::fail(name, format!("listed ({code})"), advice)
}

#[cfg(test)]
mod tests {
    use probity_backend::nodes::egress::CheckOutcome;

    use super::*;

    #[test]
    fn answers_are_read_as_lists_mean_them() {
        let read = |answer| {
            let check = report(IpAddr::from([192, 0, 2, 1]), "bl.test", &answer);
            (check.outcome, check.found)
        };
        let listed = |codes: &[[u8; 4]]| {
            let records = codes.iter().map(|code| DnsRecord::Address(IpAddr::from(*code))).collect();
            read(DnsAnswer::Records(records))
        };
        let unusable = (CheckOutcome::Warn, "no usable response".into());
        assert_eq!(read(DnsAnswer::NoName), (CheckOutcome::Ok, "not listed".into()));
        assert_eq!(listed(&[[127, 0, 0, 2]]), (CheckOutcome::Fail, "listed (127.0.0.2)".into()));
        assert_eq!(listed(&[[127, 0, 0, 2], [127, 255, 255, 254]]).1, "the list refuses this resolver");
        assert_eq!(listed(&[[192, 0, 2, 1]]), unusable);
        assert_eq!(read(DnsAnswer::Failed(probity_mail::dns::DnsFailure::TimedOut)), unusable);
    }

    #[test]
    fn addresses_are_turned_round() {
        assert_eq!(query(IpAddr::from([192, 0, 2, 1]), "bl.test"), "1.2.0.192.bl.test");
        let six: IpAddr = "2001:db8::1".parse().unwrap();
        assert!(query(six, "bl.test").ends_with("8.b.d.0.1.0.0.2.bl.test"));
    }
}
