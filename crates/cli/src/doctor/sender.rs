//! Check: does the MAIL FROM domain accept mail, and does its SPF record allow our sources?

use std::net::IpAddr;

use probity_mail::dns::MailRoute;
use probity_mail::spf::{Answers, Outcome, Step, check as spf};

use super::{Check, Patient};

/// Maximum look-ups per evaluation: 10 of the record, and the addresses of at most 10 MX hosts for each `mx`.
const LOOKUPS_MAX: usize = 120;

pub(super) async fn checks(patient: &Patient) -> Vec<Check> {
    let engine = &patient.settings.engine;
    if engine.mail_from.is_empty() {
        let advice = "many servers refuse probes from it; set probe.mail_from to an address of yours";
        return vec![Check::warn("MAIL FROM", "is the null sender <>", advice)];
    }
    let domain = engine.mail_from.rsplit_once('@').map_or("", |(_, domain)| domain).to_ascii_lowercase();
    let mut checks = vec![takes_mail(patient, &domain).await];
    for source in &engine.sources {
        let Some(address) = source.public else { continue };
        checks.push(covers(patient, &domain, address).await);
    }
    if engine.sources.iter().all(|source| source.public.is_none()) {
        let advice =
            "set `public` in a [[source]], and authorize that address in the SPF record of the MAIL FROM domain";
        checks.push(Check::warn("SPF", "the public address is unknown, so SPF cannot be checked", advice));
    }
    checks
}

async fn takes_mail(patient: &Patient, domain: &str) -> Check {
    let from = &patient.settings.engine.mail_from;
    let name = "MAIL FROM domain";
    if patient.settings.mail_from_assumed {
        let advice = "set probe.mail_from to an address of yours that receives mail";
        return Check::warn(name, format!("probe.mail_from is not set; {from} is derived from the host name"), advice);
    }
    let advice = format!("give {domain} an MX record: servers refuse senders that cannot receive mail");
    match patient.route(domain).await {
        MailRoute::Failed(_) => Check::warn(name, format!("{domain} could not be looked up"), "retry"),
        MailRoute::Exchangers(hosts) if !hosts.is_empty() => {
            Check::ok(name, format!("{domain} receives mail at {}", hosts[0].host))
        }
        MailRoute::Implicit if patient.addresses(domain).await.is_some_and(|addresses| !addresses.is_empty()) => {
            Check::warn(name, format!("{domain} has no MX record, only an address"), "add an MX record")
        }
        MailRoute::NullMx => Check::fail(name, format!("{domain} accepts no mail (null MX)"), advice),
        _ => Check::fail(name, format!("{domain} accepts no mail"), advice),
    }
}

async fn covers(patient: &Patient, domain: &str, address: IpAddr) -> Check {
    let name = format!("SPF for {address}");
    let term = if address.is_ipv4() { "ip4" } else { "ip6" };
    let advice = format!("add {term}:{address} to the SPF record of {domain}");
    match evaluate(patient, domain, address).await {
        Outcome::Pass => Check::ok(name, format!("{domain} authorizes this address")),
        Outcome::Fail => Check::fail(name, format!("{domain} does not authorize this address (fail)"), advice),
        Outcome::SoftFail => Check::warn(name, format!("{domain} does not authorize this address (softfail)"), advice),
        Outcome::Neutral => Check::warn(name, format!("{domain} does not mention this address (neutral)"), advice),
        Outcome::None => {
            let advice = format!("publish a TXT record at {domain}: \"v=spf1 {term}:{address} -all\"");
            Check::warn(name, format!("{domain} has no SPF record"), advice)
        }
        Outcome::TempError => Check::warn(name, "lookup failed", "retry"),
        Outcome::PermError(how) => {
            Check::fail(name, format!("the record of {domain} is invalid: {how}"), "correct the record")
        }
        Outcome::Undecided => {
            Check::warn(name, "depends on a macro or on ptr, which this check does not evaluate", advice)
        }
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
    Outcome::PermError("too many lookups")
}
