//! The real network: a stub resolver over the configured name servers, and TCP with or without a SOCKS5 proxy.
//!
//! [`RealNet`] looks up and dials, once per call. The engine above handles caching, single flight, zone budgets and the choice of
//! MX hosts. Failures are observations in the return value; only [`RealNet::new`] returns an `Err`, which means that this machine
//! cannot work (no name server).
//!
//! Names are resolved by `dns` only: never by the hosts file, a search list or mDNS. Addresses pass the [egress
//! guard](crate::net::egress) again here, immediately before the socket connects.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use probity_mail::dns::{DnsLookup, QueryKind};

use super::{BoxFuture, ConnectFailure, DialRequest, Net, Stream};
use crate::net::descriptors;
use crate::net::egress::EgressGuard;

pub use crate::net::names::reverse_name;

/// Configuration of the real network.
#[derive(Clone, Debug)]
pub struct RealNetConfig {
    /// Recursive name servers in order of preference; empty uses the system's resolv.conf. At most [`NAME_SERVERS_MAX`] are used.
    pub name_servers: Vec<SocketAddr>,
    /// Maximum time of one query to one name server, in milliseconds, including repeated datagrams.
    pub timeout_ms: u64,
    /// Maximum rounds over all name servers per query.
    pub attempts: usize,
    /// Maximum queries in flight. Each costs up to three file descriptors.
    pub in_flight_max: usize,
    /// Maximum queries waiting or in flight; more are answered as our own overload.
    pub queued_max: usize,
    /// Guard of outgoing addresses.
    pub guard: Arc<EgressGuard>,
}

/// Maximum name servers used; more only delay a failure.
pub const NAME_SERVERS_MAX: usize = 8;

impl RealNetConfig {
    /// Defaults with this guard: the system's name servers, 2 rounds of 5 s, as many queries in flight as descriptors allow (1,024
    /// at most), and 65,536 in all.
    pub fn new(guard: Arc<EgressGuard>) -> Self {
        Self {
            name_servers: Vec::new(),
            timeout_ms: 5_000,
            attempts: 2,
            in_flight_max: descriptors::questions_max(descriptors::descriptor_limit()),
            queued_max: 65_536,
            guard,
        }
    }
}

/// The real network.
pub struct RealNet {
    resolver: crate::net::dns::DnsClient,
    guard: Arc<EgressGuard>,
}

impl RealNet {
    /// Sets the network up, without sending a packet. Fails if no name server is known. Call within a tokio runtime.
    pub fn new(config: RealNetConfig) -> io::Result<Self> {
        Ok(Self { resolver: crate::net::dns::DnsClient::new(&config)?, guard: config.guard })
    }
}

impl Net for RealNet {
    fn lookup<'a>(&'a self, name: &'a str, kind: QueryKind) -> BoxFuture<'a, DnsLookup> {
        Box::pin(self.resolver.lookup(name, kind))
    }

    fn connect(&self, dial: DialRequest) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>> {
        Box::pin(crate::net::dial::connect(&self.guard, dial))
    }
}
