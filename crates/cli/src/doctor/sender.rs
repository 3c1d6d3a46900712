//! Check: does the MAIL FROM domain accept mail, and does its SPF record allow our sources?

use std::net::IpAddr;

use probity_mail::dns::MailRoute;
use probity_mail::spf::{SpfAnswers, SpfOutcome, SpfStep, check as spf};

use super::{Check, DoctorInputs};

/// Maximum look-ups per evaluation: 10 of the record, and the addresses of at most 10 MX hosts for each `mx`.
const LOOKUPS_MAX: usize = 120;

pub(super) async fn checks(patient: &DoctorInputs) -> Vec<Check> {
    let engine = &patient.settings.engine;
    if engine.mail_from.is_empty() {
        let advice = "set probe.mail_from to an address of yours that receives mail; many mail servers refuse probes \
                      from the null sender";
        return vec![Check::warn("MAIL FROM", "null sender <>", advice).with_config(from_config())];
    }
    let domain = engine.mail_from.rsplit_once('@').map_or("", |(_, domain)| domain).to_ascii_lowercase();
    let mut checks = vec![takes_mail(patient, &domain).await];
    for source in &engine.sources {
        let Some(address) = source.public else { continue };
        checks.push(covers(patient, &domain, address).await);
    }
    if engine.sources.iter().all(|source| source.public.is_none()) {
        let advice = "set `public` in a [[source]] to the IP address that mail servers see, and authorize it in the SPF \
                      record of the MAIL FROM domain";
        let unknown = Check::warn("SPF", "the public address is unknown, so SPF cannot be checked", advice);
        checks.push(unknown.with_config(super::PUBLIC));
    }
    checks
}

fn from_config() -> String {
    super::line("[probe]", "mail_from", "\"verify@example.com\"")
}

async fn takes_mail(patient: &DoctorInputs, domain: &str) -> Check {
    let from = &patient.settings.engine.mail_from;
    let name = "MAIL FROM domain";
    if patient.settings.mail_from_assumed {
        let advice = "set probe.mail_from to an address of yours that receives mail";
        let found = format!("probe.mail_from is not set; {from} is derived from the host name");
        return Check::warn(name, found, advice).with_config(from_config());
    }
    let advice = format!(
        "add an MX record for {domain}, or set probe.mail_from to an address that receives mail; mail servers refuse \
         senders that cannot receive mail"
    );
    match patient.route(domain).await {
        MailRoute::Failed(_) => Check::warn(name, format!("{domain} could not be looked up"), super::AGAIN),
        MailRoute::Exchangers(hosts) if !hosts.is_empty() => {
            Check::ok(name, format!("{domain} receives mail at {}", hosts[0].host))
        }
        MailRoute::Implicit if patient.addresses(domain).await.is_some_and(|addresses| !addresses.is_empty()) => {
            Check::warn(
                name,
                format!("{domain} has no MX record, only an address"),
                format!("add an MX record for {domain}"),
            )
        }
        MailRoute::NullMx => Check::fail(name, format!("{domain} accepts no mail (null MX)"), advice),
        _ => Check::fail(name, format!("{domain} accepts no mail"), advice),
    }
}

async fn covers(patient: &DoctorInputs, domain: &str, address: IpAddr) -> Check {
    let name = format!("SPF for {address}");
    let term = if address.is_ipv4() { "ip4" } else { "ip6" };
    let advice = format!("add {term}:{address} to the SPF record of {domain}");
    match evaluate(patient, domain, address).await {
        SpfOutcome::Pass => Check::ok(name, format!("{domain} authorizes this address")),
        SpfOutcome::Fail => Check::fail(name, format!("{domain} does not authorize this address (fail)"), advice),
        SpfOutcome::SoftFail => {
            Check::warn(name, format!("{domain} does not authorize this address (softfail)"), advice)
        }
        SpfOutcome::Neutral => Check::warn(name, format!("{domain} does not mention this address (neutral)"), advice),
        SpfOutcome::None => {
            let advice = format!("publish a TXT record at {domain}: \"v=spf1 {term}:{address} -all\"");
            Check::warn(name, format!("{domain} has no SPF record"), advice)
        }
        SpfOutcome::TempError => Check::warn(name, "lookup failed", super::AGAIN),
        SpfOutcome::PermError(how) => {
            Check::fail(name, format!("the SPF record of {domain} is invalid: {how}"), "correct the SPF record")
        }
        SpfOutcome::Undecided => Check::warn(
            name,
            "not decided: the SPF record uses a macro or ptr, which this check does not evaluate",
            advice,
        ),
    }
}

async fn evaluate(patient: &DoctorInputs, domain: &str, address: IpAddr) -> SpfOutcome {
    let mut answers = SpfAnswers::new();
    while answers.len() < LOOKUPS_MAX {
        match spf(address, domain, &answers) {
            SpfStep::Done(outcome) => return outcome,
            SpfStep::Ask(name, kind) => {
                let answer = patient.net.lookup(&name, kind).await.answer;
                answers.insert((name, kind), answer);
            }
        }
    }
    SpfOutcome::PermError("too many lookups")
}
