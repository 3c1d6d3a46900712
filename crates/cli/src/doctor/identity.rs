//! Do name and address of each source belong to each other, both ways?

use std::sync::Arc;

use probity_core::dns::{Answer, Kind, Record};
use probity_engine::net::Source;
use probity_engine::net::real::reverse_name;

use super::{Check, Patient};

/// A few words that tell a source from others.
pub(super) fn of(source: &Source) -> String {
    source.public.or(source.bind).map_or_else(String::new, |address| format!(" from {address}"))
}

pub(super) async fn checks(patient: &Patient) -> Vec<Check> {
    let mut checks = Vec::new();
    for source in &patient.settings.engine.sources {
        checks.push(helo(source));
        checks.push(reverse(patient, source).await);
    }
    checks
}

fn helo(source: &Arc<Source>) -> Check {
    let name = format!("HELO name{}", of(source));
    if source.helo.contains('.') {
        return Check::ok(name, source.helo.clone());
    }
    let found = format!("{:?} is no full name", source.helo);
    Check::fail(name, found, "set probe.helo to the reverse name of your public address, such as mx1.example.com")
}

/// Forward-confirmed reverse DNS: the address has the name, and the name has the address.
async fn reverse(patient: &Patient, source: &Arc<Source>) -> Check {
    let name = format!("reverse name{}", of(source));
    let Some(address) = source.public else {
        let advice = "write a [[source]] with `public`: the address under which the world sees this machine";
        return Check::warn(name, "the public address is not known, so it cannot be checked", advice);
    };
    let names = match patient.net.lookup(&reverse_name(address), Kind::Ptr).await.answer {
        Answer::Records(records) => records
            .into_iter()
            .filter_map(|record| if let Record::Ptr(name) = record { Some(name) } else { None })
            .collect(),
        Answer::Empty | Answer::NoName => Vec::new(),
        Answer::Failed(how) => return Check::warn(name, format!("could not be looked up ({how:?})"), "try again"),
    };
    let helo = source.helo.to_ascii_lowercase();
    if names.is_empty() {
        let advice =
            format!("let whoever gave you {address} set its reverse name to {helo}; many servers refuse without");
        return Check::fail(name, format!("{address} has none"), advice);
    }
    if !names.contains(&helo) {
        let found = format!("{address} is {}, but HELO says {helo}", names.join(", "));
        return Check::warn(name, found, format!("set helo to {}", names[0]));
    }
    match patient.addresses(&helo).await {
        Some(addresses) if addresses.contains(&address) => {
            Check::ok(name, format!("{address} and {helo} name each other"))
        }
        Some(addresses) => {
            let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let found = format!("{helo} leads to [{}], not to {address}", shown.join(", "));
            Check::fail(name, found, format!("give {helo} an address record with {address}"))
        }
        None => Check::warn(name, format!("{helo} could not be looked up"), "try again"),
    }
}
