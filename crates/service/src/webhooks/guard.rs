//! What may be a receiver: the egress guard over URLs and names.
//!
//! Asked twice. At submit it tells the customer ([`UrlGuard::check`]); a name that does not resolve then is accepted. At each
//! attempt it gives the addresses to dial ([`UrlGuard::addresses`]), and the sender dials those and no others, so an answer
//! that changes between the two is judged by what it is at the second. Names are resolved by our own resolver: no hosts file,
//! no search list. One address that may not be dialled condemns the whole answer: an honest receiver does not have one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use probity_engine::egress::Guard;
use probity_engine::net::{BoxFuture, Net};
use probity_mail::dns::{Answer, DnsFailure, Kind, Record};

use crate::webhooks::target::{Place, Refused, Target};

/// How long a look-up may delay a request that names a receiver. It only tells the customer early: the guard at delivery is
/// what protects.
const CHECK_MAX: Duration = Duration::from_secs(1);
/// The most addresses of one answer that are looked at; an answer with more is refused.
const ADDRESSES_MAX: usize = 64;

/// Why a name has no addresses now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// It does not exist, has none, or nobody answers for it.
    Name,
    /// We are at our own limits; nothing about the name.
    Busy,
}

/// Whoever resolves names of receivers.
pub trait Names: Send + Sync + 'static {
    /// The addresses of a name, which is absolute, in lower-case A-labels without the last dot. Never asked for a literal.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>>;
}

/// The names as the engine's network resolves them.
pub struct ByNet(pub Arc<dyn Net>);

impl Names for ByNet {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        Box::pin(async move {
            let (four, six) = tokio::join!(self.0.lookup(name, Kind::A), self.0.lookup(name, Kind::Aaaa));
            // Where one of the two could not be found out, the other is enough to go on with.
            let mut found = Vec::new();
            let mut busy = false;
            for answer in [four.answer, six.answer] {
                match answer {
                    Answer::Records(records) => found.extend(records.iter().filter_map(address)),
                    Answer::Failed(DnsFailure::Overload) => busy = true,
                    Answer::Empty | Answer::NoName | Answer::Failed(_) => {}
                }
            }
            match (found.is_empty(), busy) {
                (false, _) => Ok(found),
                (true, true) => Err(Unresolved::Busy),
                (true, false) => Err(Unresolved::Name),
            }
        })
    }
}

fn address(record: &Record) -> Option<IpAddr> {
    match record {
        Record::Address(address) => Some(*address),
        Record::Mx { .. } | Record::Txt(_) | Record::Ptr(_) => None,
    }
}

/// No resolver at all: only literals lead anywhere.
pub struct NoNames;

impl Names for NoNames {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        Box::pin(async { Err(Unresolved::Name) })
    }
}

/// Why a target is not dialled now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotDialled {
    /// The guard refuses an address, or http.
    Refused,
    /// There are no addresses.
    Unresolved,
    /// We are at our own limits.
    Busy,
}

/// The guard of receivers. Shared by submit and delivery.
pub struct UrlGuard {
    egress: Guard,
    names: Arc<dyn Names>,
    https_only: bool,
}

impl UrlGuard {
    /// A guard that lets through what `egress` lets through, by the names that `names` gives. The port of `egress` is that of
    /// mail and does not count here.
    pub fn new(egress: Guard, names: Arc<dyn Names>, https_only: bool) -> Self {
        Self { egress, names, https_only }
    }

    /// Whether a customer may name this receiver.
    pub async fn check(&self, target: &Target) -> Result<(), Refused> {
        if self.https_only && !target.is_https() {
            return Err(Refused::Scheme);
        }
        let addresses = match target.place() {
            Place::Addresses(addresses) => addresses,
            Place::Name(name) => {
                let looked_up = tokio::time::timeout(CHECK_MAX, self.names.addresses(&name)).await;
                looked_up.ok().and_then(Result::ok).unwrap_or_default()
            }
        };
        if self.all_allowed(&addresses) { Ok(()) } else { Err(Refused::Special) }
    }

    /// The addresses to dial for an attempt, IPv4 first.
    pub(super) async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, NotDialled> {
        if self.https_only && !target.is_https() {
            return Err(NotDialled::Refused);
        }
        let mut addresses = match target.place() {
            Place::Addresses(addresses) => addresses,
            Place::Name(name) => self.names.addresses(&name).await.map_err(|why| match why {
                Unresolved::Name => NotDialled::Unresolved,
                Unresolved::Busy => NotDialled::Busy,
            })?,
        };
        if !self.all_allowed(&addresses) {
            return Err(NotDialled::Refused);
        }
        addresses.sort_by_key(|address| !address.to_canonical().is_ipv4());
        Ok(addresses.into_iter().map(|ip| SocketAddr::new(ip.to_canonical(), target.port())).collect())
    }

    /// Whether one address may be dialled; the sender asks once more immediately before it does.
    pub(super) fn allows(&self, address: SocketAddr) -> bool {
        let judged = self.egress.allows(address.ip());
        if let Err(refusal) = judged {
            // The operator learns why; the customer learns that nobody was reached.
            tracing::debug!(%refusal, "a receiver is not dialled");
        }
        judged.is_ok()
    }

    fn all_allowed(&self, addresses: &[IpAddr]) -> bool {
        addresses.len() <= ADDRESSES_MAX && addresses.iter().all(|ip| self.allows(SocketAddr::new(*ip, 0)))
    }
}
