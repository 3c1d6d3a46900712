//! Does the MAIL FROM domain take mail, and does its SPF record let our sources send?

use std::net::IpAddr;

use probity_core::dns::MailRoute;
use probity_core::spf::{Answers, Outcome, Step, check as spf};

use super::{Check, Patient};

/// Look-ups of one evaluation: ten of the record, and the addresses of at most ten exchangers for each `mx`.
const LOOKUPS_MAX: usize = 120;

pub(super) async fn checks(patient: &Patient) -> Vec<Check> {
    let engine = &patient.settings.engine;
    if engine.mail_from.is_empty() {
        let advice = "many servers refuse it for questions; set probe.mail_from to an address of yours";
        return vec![Check::warn("MAIL FROM", "is the null sender <>", advice)];
    }
    let domain = engine.mail_from.rsplit_once('@').map_or("", |(_, domain)| domain).to_ascii_lowercase();
    let mut checks = vec![takes_mail(patient, &domain).await];
    for source in &engine.sources {
        let Some(address) = source.public else { continue };
        checks.push(covers(patient, &domain, address).await);
    }
    if engine.sources.iter().all(|source| source.public.is_none()) {
        let advice = "write a [[source]] with `public`, and name it in the SPF record of the MAIL FROM domain";
        checks.push(Check::warn("SPF", "the public address is not known, so it cannot be checked", advice));
    }
    checks
}

async fn takes_mail(patient: &Patient, domain: &str) -> Check {
    let from = &patient.settings.engine.mail_from;
    let name = "MAIL FROM domain";
    if patient.settings.mail_from_assumed {
        let advice = "set probe.mail_from to an address of yours that takes mail";
        return Check::warn(name, format!("none is configured; {from} is made of the host name"), advice);
    }
    let advice = format!("give {domain} an MX record: servers refuse senders that cannot be answered");
    match patient.route(domain).await {
        MailRoute::Failed(_) => Check::warn(name, format!("{domain} could not be looked up"), "try again"),
        MailRoute::Exchangers(hosts) if !hosts.is_empty() => {
            Check::ok(name, format!("{domain} takes mail at {}", hosts[0].host))
        }
        MailRoute::Implicit if patient.addresses(domain).await.is_some_and(|addresses| !addresses.is_empty()) => {
            Check::warn(name, format!("{domain} has no MX, only an address"), "give it an MX record")
        }
        MailRoute::NullMx => Check::fail(name, format!("{domain} says that it takes no mail (null MX)"), advice),
        _ => Check::fail(name, format!("{domain} takes no mail"), advice),
    }
}

async fn covers(patient: &Patient, domain: &str, address: IpAddr) -> Check {
    let name = format!("SPF for {address}");
    let term = if address.is_ipv4() { "ip4" } else { "ip6" };
    let advice = format!("add {term}:{address} to the SPF record of {domain}");
    match evaluate(patient, domain, address).await {
        Outcome::Pass => Check::ok(name, format!("{domain} lets it send")),
        Outcome::Fail => Check::fail(name, format!("{domain} forbids it to send"), advice),
        Outcome::SoftFail => Check::warn(name, format!("{domain} disowns it (~all)"), advice),
        Outcome::Neutral => Check::warn(name, format!("{domain} says nothing about it"), advice),
        Outcome::None => {
            let advice = format!("publish a text record at {domain}: \"v=spf1 {term}:{address} -all\"");
            Check::warn(name, format!("{domain} has no SPF record"), advice)
        }
        Outcome::TempError => Check::warn(name, "could not be looked up", "try again"),
        Outcome::PermError(how) => Check::fail(name, format!("the record of {domain} is wrong: {how}"), "correct it"),
        Outcome::Undecided => Check::warn(name, "depends on a macro or on ptr, which cannot be checked here", advice),
    }
}

async fn evaluate(patient: &Patient, domain: &str, address: IpAddr) -> Outcome {
    let mut answers = Answers::new();
    while answers.len() < LOOKUPS_MAX {
        match spf(address, domain, &answers) {
            Step::Done(outcome) => return outcome,
            Step::Ask(name, kind) => {
                let answer = patient.net.lookup(&name, kind).await.answer;
                answers.insert((name, kind), answer);
            }
        }
    }
    Outcome::PermError("too many look-ups")
}
