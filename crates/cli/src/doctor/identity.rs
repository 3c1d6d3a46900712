//! Check: does each source have matching forward and reverse DNS?

use std::sync::Arc;

use probity_backend::nodes::asking::Essential;
use probity_engine::net::ProbeSource;
use probity_engine::net::real::reverse_name;
use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};

use super::{Check, CheckOutcome, DoctorInputs};

/// Short description that identifies a source.
pub(super) fn of(source: &ProbeSource) -> String {
    source.public.or(source.bind).map_or_else(String::new, |address| format!(" from {address}"))
}

pub(super) async fn checks(patient: &DoctorInputs) -> Vec<Check> {
    let mut checks = Vec::new();
    for source in &patient.settings.engine.sources {
        checks.push(helo(source));
        let found = reverse(patient, source).await.about(Essential::ReverseName);
        checks.push(judged(found, patient.settings.sections.probe.without_ptr));
    }
    checks
}

/// Weighs a check of the reverse name: if the operator goes without one, it is a warning.
fn judged(check: Check, is_optional: bool) -> Check {
    match check.outcome {
        CheckOutcome::Fail if is_optional => Check { outcome: CheckOutcome::Warn, ..check },
        CheckOutcome::Fail => {
            let advice = format!("{}; to start lists without one: probe.without_ptr = true", check.advice);
            Check { advice, ..check }.with_config(super::line("[probe]", "without_ptr", "true"))
        }
        CheckOutcome::Ok | CheckOutcome::Warn => check,
    }
}

fn helo(source: &Arc<ProbeSource>) -> Check {
    let name = format!("HELO name{}", of(source));
    if source.helo.contains('.') {
        return Check::ok(name, source.helo.clone());
    }
    let found = format!("{:?} is not a fully qualified name", source.helo);
    Check::fail(
        name,
        found,
        "set probe.helo to the name in the PTR record of your public address, such as mx1.example.com",
    )
    .with_config(super::line("[probe]", "helo", "\"mx1.example.com\""))
}

/// Checks forward-confirmed reverse DNS: the address resolves to the name, and the name to the address.
async fn reverse(patient: &DoctorInputs, source: &Arc<ProbeSource>) -> Check {
    let name = format!("reverse name{}", of(source));
    let Some(address) = source.public else {
        let advice = "set `public` in a [[source]] to the IP address that mail servers see";
        return Check::warn(name, "the public address is unknown, so its PTR record cannot be checked", advice)
            .with_config(super::PUBLIC);
    };
    let names = match patient.net.lookup(&reverse_name(address), QueryKind::Ptr).await.answer {
        DnsAnswer::Records(records) => records
            .into_iter()
            .filter_map(|record| if let DnsRecord::Ptr(name) = record { Some(name) } else { None })
            .collect(),
        DnsAnswer::Empty | DnsAnswer::NoName | DnsAnswer::NoTarget => Vec::new(),
        DnsAnswer::Failed(how) => {
            return Check::warn(name, format!("lookup failed: {}", super::failed_lookup(how)), super::AGAIN);
        }
    };
    let helo = source.helo.to_ascii_lowercase();
    if names.is_empty() {
        let advice = format!(
            "ask the provider of {address} to set its PTR record to {helo}; many mail servers refuse clients without \
             one"
        );
        return Check::fail(name, format!("{address} has no PTR record"), advice);
    }
    if !names.contains(&helo) {
        let found = format!("the PTR record of {address} is {}, but HELO is {helo}", names.join(", "));
        return Check::warn(name, found, format!("set probe.helo, or helo in the [[source]], to {}", names[0]))
            .with_config(super::line("[probe]", "helo", &format!("{:?}", names[0])));
    }
    match patient.addresses(&helo).await {
        Some(addresses) if addresses.contains(&address) => {
            Check::ok(name, format!("{address} and {helo} match in both directions"))
        }
        Some(addresses) => {
            let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let found = if shown.is_empty() {
                format!("{helo} resolves to no address")
            } else {
                format!("{helo} resolves to {}, not to {address}", shown.join(", "))
            };
            Check::fail(name, found, format!("add an address record for {helo} with {address} to your DNS"))
        }
        None => Check::warn(name, format!("{helo} could not be looked up"), super::AGAIN),
    }
}

#[cfg(test)]
mod tests {
    use probity_backend::nodes::asking::AskingState;

    use super::*;

    #[test]
    fn without_a_reverse_name_lists_start_only_if_the_operator_says_so() {
        let missing = || Check::fail("reverse name", "no PTR record", "ask for one").about(Essential::ReverseName);
        let state = |is_optional| AskingState::of(&[judged(missing(), is_optional)]);
        assert_eq!((state(false), state(true)), (AskingState::NoReverseName, AskingState::Able));
        assert_eq!(judged(missing(), true).outcome, CheckOutcome::Warn);
        let check = judged(missing(), false);
        assert!(check.advice.contains("probe.without_ptr = true"));
        assert_eq!(check.config, "[probe]\nwithout_ptr = true");
    }
}
