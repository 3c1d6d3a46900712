//! Check: does each resolver answer, and how fast?

use probity_engine::clock::Clock;
use probity_mail::dns::{Answer, Kind};

use super::{Check, Patient};

/// Limit above which a look-up slows the first probe of every domain.
const SLOW_MS: u128 = 500;

pub(super) async fn checks(patient: &Patient) -> Vec<Check> {
    let Some(domain) = patient.settings.probe_domains.first() else {
        return vec![Check::warn("resolver", "not checked", "doctor.probe_domains is empty")];
    };
    let mut checks = Vec::new();
    for (name, net) in &patient.resolvers {
        let clock = Clock::system();
        let answer = net.lookup(domain, Kind::Mx).await.answer;
        let took = clock.elapsed().as_millis();
        let title = format!("resolver {name}");
        checks.push(match answer {
            Answer::Records(_) if took <= SLOW_MS => Check::ok(title, format!("responds in {took} ms")),
            Answer::Records(_) => {
                Check::warn(title, format!("takes {took} ms"), "run a resolver on this machine (unbound)")
            }
            Answer::NoName => Check::fail(
                title,
                format!("reports that {domain} does not exist"),
                "it resolves no public names: check the network and dns.nameservers",
            ),
            Answer::Empty => Check::warn(
                title,
                format!("reports no MX host for {domain}"),
                "put a domain that receives mail first in doctor.probe_domains, or use a resolver that does not filter",
            ),
            Answer::Failed(how) => Check::fail(
                title,
                format!("does not respond ({how:?})"),
                "check the network and dns.nameservers; without DNS, nothing can be verified",
            ),
        });
    }
    checks
}
