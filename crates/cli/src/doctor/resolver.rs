//! Check: does each resolver respond, and how fast?

use probity_backend::nodes::asking::Essential;
use probity_engine::clock::EngineClock;
use probity_mail::dns::{DnsAnswer, DnsFailure, QueryKind};

use super::{Check, DoctorInputs};

/// Limit above which a look-up slows the first probe of every domain.
const SLOW_MS: u128 = 500;

/// Advice without a resolver that responds.
pub(super) const ADVICE: &str =
    "check the network, and set dns.nameservers to a resolver that works; without DNS, nothing can be verified";

pub(super) async fn checks(patient: &DoctorInputs) -> Vec<Check> {
    let Some(domain) = patient.settings.sections.doctor.probe_domains.first() else {
        return vec![Check::warn(
            "resolver",
            "not checked: doctor.probe_domains is empty",
            "set doctor.probe_domains to domains that receive mail",
        )];
    };
    let mut checks = Vec::new();
    for (name, net) in &patient.resolvers {
        let clock = EngineClock::system();
        let answer = net.lookup(domain, QueryKind::Mx).await.answer;
        let took = clock.elapsed().as_millis();
        let title = format!("resolver {name}");
        let check = match &answer {
            DnsAnswer::Records(_) if took <= SLOW_MS => Check::ok(title, format!("responds in {took} ms")),
            DnsAnswer::Records(_) => Check::warn(
                title,
                format!("responds slowly, in {took} ms"),
                "run a resolver on this machine, such as unbound, and set dns.nameservers to it",
            ),
            DnsAnswer::NoName | DnsAnswer::NoTarget => Check::fail(
                title,
                format!("reports that {domain} does not exist"),
                "set dns.nameservers to a resolver that resolves public names",
            ),
            DnsAnswer::Empty => Check::warn(
                title,
                format!("finds no mail server for {domain}"),
                "set dns.nameservers to a resolver that does not filter, or put a domain that receives mail first in \
                 doctor.probe_domains",
            ),
            DnsAnswer::Failed(how) => {
                let found = format!("lookup failed: {}", super::failed_lookup(*how));
                Check::fail(title, found, ADVICE).with_config(super::NAMESERVERS)
            }
        };
        checks.push(if is_telling(&answer) { check.about(Essential::Resolver) } else { check });
    }
    checks
}

/// Returns whether a response about the first domain shows that names resolve. A resolver that denies it may know the others: the
/// port check looks them up.
fn is_telling(answer: &DnsAnswer) -> bool {
    use DnsAnswer::{Empty, Failed, NoName, NoTarget};
    !matches!(answer, NoName | NoTarget | Empty | Failed(DnsFailure::Refused))
}
