//! Egress guard of HTTP requests: checks their URLs and the addresses of their hosts.
//!
//! The guard is used twice. At submission, it informs the customer ([`UrlGuard::check`]); a name that does not resolve yet
//! is accepted. At each attempt, it returns the addresses to dial ([`UrlGuard::addresses`]), and the sender dials no
//! others. If a name's addresses change in between, the later ones decide. Names are resolved by the engine's resolver,
//! without a hosts file or search list. One forbidden address disqualifies all addresses of a name, because legitimate
//! endpoints have none.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use probity_connectors::HostAllowance;
use probity_engine::net::egress::EgressGuard;
use probity_engine::net::{BoxFuture, Net};
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsRecord, QueryKind};

use crate::dial::DialFailure;
use crate::target::{HttpTarget, TargetHost, TargetRefusal};

/// Maximum time that the lookup of an endpoint's name delays a request. The lookup only informs the customer early; the
/// guard at delivery protects.
const CHECK_MAX: Duration = Duration::from_secs(1);
/// Maximum number of addresses of a name. A name with more is refused.
const ADDRESSES_MAX: usize = 64;

/// Reason why a name has no addresses now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// The name does not exist or has no addresses, or no name server responds.
    Name,
    /// The node is at its own limits, independent of the name.
    Busy,
}

/// Resolver of endpoints' names.
pub trait Names: Send + Sync + 'static {
    /// Resolves an absolute name, in lowercase A-labels without the final dot. Never called for a literal address.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>>;

    /// Returns the TXT records of an absolute name; empty if there certainly are none. A lookup that fails says nothing about
    /// them, so it is an error.
    fn texts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, Unresolved>> {
        Box::pin(async { Err(Unresolved::Name) })
    }
}

/// Resolver that uses the engine's network.
pub struct ByNet(pub Arc<dyn Net>);

impl Names for ByNet {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        Box::pin(async move {
            let (four, six) = tokio::join!(self.0.lookup(name, QueryKind::A), self.0.lookup(name, QueryKind::Aaaa));
            // If one of the two lookups fails, the other is sufficient.
            let mut found = Vec::new();
            let mut busy = false;
            for answer in [four.answer, six.answer] {
                match answer {
                    DnsAnswer::Records(records) => found.extend(records.iter().filter_map(address)),
                    DnsAnswer::Failed(DnsFailure::Overload) => busy = true,
                    DnsAnswer::Empty | DnsAnswer::NoName | DnsAnswer::NoTarget | DnsAnswer::Failed(_) => {}
                }
            }
            match (found.is_empty(), busy) {
                (false, _) => Ok(found),
                (true, true) => Err(Unresolved::Busy),
                (true, false) => Err(Unresolved::Name),
            }
        })
    }

    fn texts<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<String>, Unresolved>> {
        Box::pin(async move {
            let text = |record: &DnsRecord| if let DnsRecord::Txt(text) = record { Some(text.clone()) } else { None };
            match self.0.lookup(name, QueryKind::Txt).await.answer {
                DnsAnswer::Records(records) => Ok(records.iter().filter_map(text).collect()),
                DnsAnswer::Empty | DnsAnswer::NoName | DnsAnswer::NoTarget => Ok(Vec::new()),
                DnsAnswer::Failed(DnsFailure::Overload) => Err(Unresolved::Busy),
                DnsAnswer::Failed(_) => Err(Unresolved::Name),
            }
        })
    }
}

fn address(record: &DnsRecord) -> Option<IpAddr> {
    match record {
        DnsRecord::Address(address) => Some(*address),
        DnsRecord::Mx { .. } | DnsRecord::Txt(_) | DnsRecord::Ptr(_) => None,
    }
}

/// No resolver: only literal addresses can be reached.
pub struct NoNames;

impl Names for NoNames {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        Box::pin(async { Err(Unresolved::Name) })
    }
}

/// Guard of endpoints and platforms.
pub struct UrlGuard {
    egress: EgressGuard,
    /// Guard of hosts other than the operator's own.
    foreign: EgressGuard,
    names: Arc<dyn Names>,
    https_only: bool,
    /// Hosts in the operator's own network.
    own_hosts: HostAllowance,
}

impl UrlGuard {
    /// Creates a guard that allows what `egress` allows, for addresses to which `names` resolves. The SMTP port of `egress`
    /// does not apply.
    pub fn new(egress: EgressGuard, names: Arc<dyn Names>, https_only: bool) -> Self {
        Self { foreign: egress.clone(), egress, names, https_only, own_hosts: HostAllowance::default() }
    }

    /// Returns a guard of platforms. Only the operator's own hosts, given as `host:port`, may have private addresses, be reached
    /// without TLS, and use any port. Networks allowed for mail and webhooks are not open to platforms: every customer
    /// would reach all hosts in them.
    #[must_use]
    pub fn of_platforms(self, own_hosts: HostAllowance) -> Self {
        Self { foreign: self.egress.for_customers(), https_only: true, own_hosts, ..self }
    }

    /// Returns the TXT records of an absolute name, as [`Names::texts`], from the resolver that also finds hosts.
    pub async fn texts(&self, name: &str) -> Result<Vec<String>, Unresolved> {
        self.names.texts(name).await
    }

    /// Checks whether a customer may use this endpoint.
    pub async fn check(&self, target: &HttpTarget) -> Result<(), TargetRefusal> {
        if self.refuses_scheme(target) {
            return Err(TargetRefusal::Scheme);
        }
        let addresses = match target.place() {
            TargetHost::Addresses(addresses) => addresses,
            TargetHost::Name(name) => {
                let looked_up = tokio::time::timeout(CHECK_MAX, self.names.addresses(&name)).await;
                looked_up.ok().and_then(Result::ok).unwrap_or_default()
            }
        };
        if self.all_allowed(target, &addresses) { Ok(()) } else { Err(TargetRefusal::Special) }
    }

    /// Returns the addresses to dial for an attempt, IPv4 first.
    pub(super) async fn addresses(&self, target: &HttpTarget) -> Result<Vec<SocketAddr>, DialFailure> {
        if self.refuses_scheme(target) || !(target.has_web_port() || self.is_own(target)) {
            return Err(DialFailure::Blocked);
        }
        let mut addresses = match target.place() {
            TargetHost::Addresses(addresses) => addresses,
            TargetHost::Name(name) => self.names.addresses(&name).await.map_err(|why| match why {
                Unresolved::Name => DialFailure::Unresolved,
                Unresolved::Busy => DialFailure::Local,
            })?,
        };
        if !self.all_allowed(target, &addresses) {
            return Err(DialFailure::Blocked);
        }
        addresses.sort_by_key(|address| !address.to_canonical().is_ipv4());
        Ok(addresses.into_iter().map(|ip| SocketAddr::new(ip.to_canonical(), target.port())).collect())
    }

    /// Returns whether an address may be dialed for a target. The dialer checks this again immediately before dialing.
    pub(super) fn allows(&self, target: &HttpTarget, address: SocketAddr) -> bool {
        let ip = address.ip();
        let judged = if self.is_own(target) { self.egress.allows_own(ip) } else { self.foreign.allows(ip) };
        if let Err(refusal) = judged {
            // The reason is logged. The customer learns only that the host could not be reached.
            tracing::debug!(%refusal, "not dialing a receiver");
        }
        judged.is_ok()
    }

    fn is_own(&self, target: &HttpTarget) -> bool {
        self.own_hosts.has(&target.lane())
    }

    fn refuses_scheme(&self, target: &HttpTarget) -> bool {
        self.https_only && !target.is_https() && !self.is_own(target)
    }

    fn all_allowed(&self, target: &HttpTarget, addresses: &[IpAddr]) -> bool {
        addresses.len() <= ADDRESSES_MAX && addresses.iter().all(|ip| self.allows(target, SocketAddr::new(*ip, 0)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use probity_engine::net::{BoxFuture, ConnectFailure, DialRequest, Net, Stream};
    use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, DnsRecord, QueryKind};

    use super::{ByNet, Names as _, Unresolved};

    /// Network whose lookups have one answer.
    struct Said(DnsAnswer);

    impl Net for Said {
        fn lookup<'a>(&'a self, _: &'a str, kind: QueryKind) -> BoxFuture<'a, DnsLookup> {
            assert_eq!(kind, QueryKind::Txt);
            Box::pin(async { DnsLookup { answer: self.0.clone(), ttl_ms: 0 } })
        }

        fn connect(&self, _: DialRequest) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>> {
            Box::pin(async { Err(ConnectFailure::Unreachable) })
        }
    }

    #[tokio::test]
    async fn a_failed_lookup_of_texts_is_told_from_texts_that_are_not_there() {
        let many: Vec<String> = (0..200).map(|no| format!("text {no}")).collect();
        let records = many.iter().cloned().map(DnsRecord::Txt).chain([DnsRecord::Ptr("other.example".into())]);
        for (answer, expected) in [
            (DnsAnswer::Records(records.collect()), Ok(many)),
            (DnsAnswer::Empty, Ok(Vec::new())),
            (DnsAnswer::NoName, Ok(Vec::new())),
            (DnsAnswer::Failed(DnsFailure::ServFail), Err(Unresolved::Name)),
            (DnsAnswer::Failed(DnsFailure::TimedOut), Err(Unresolved::Name)),
            (DnsAnswer::Failed(DnsFailure::Overload), Err(Unresolved::Busy)),
        ] {
            let found = ByNet(Arc::new(Said(answer.clone()))).texts("_probity.example.com").await;
            assert_eq!(found, expected, "{answer:?}");
        }
    }
}
