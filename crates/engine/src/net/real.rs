//! The real network: a stub resolver over the configured name servers, and TCP with or without a SOCKS5 proxy.
//!
//! [`RealNet`] looks up and dials, once for each call. Caching, single flight beyond one name server's, budgets of zones and
//! the choice of exchangers belong to the engine above. What goes wrong is an observation in the return value; an `Err` of
//! [`RealNet::new`] alone means that this machine cannot work (no name server).
//!
//! Names are resolved by `dns` only: never by the hosts file, a search list or mDNS. Addresses pass the
//! [egress guard](crate::egress) once more here, immediately before the socket is connected.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use probity_mail::dns::{Kind, Lookup};

use super::{BoxFuture, ConnectFailure, Dial, Net, Stream};
use crate::descriptors;
use crate::egress::Guard;

mod answer;
mod dial;
mod dns;
mod names;

pub use names::reverse_name;

/// How the real network is set up.
#[derive(Clone, Debug)]
pub struct RealNetConfig {
    /// The recursive name servers in the order of preference; empty takes those of the system's resolv.conf. At most
    /// [`NAME_SERVERS_MAX`] are used.
    pub name_servers: Vec<SocketAddr>,
    /// How long one name server may take for one question, in milliseconds. Datagrams are repeated within.
    pub timeout_ms: u64,
    /// How many rounds over all name servers one question may take.
    pub attempts: usize,
    /// How many questions may be at the name servers at a time. Each costs up to three file descriptors.
    pub in_flight_max: usize,
    /// How many questions may wait for their turn, those in flight included; more are answered as our own overload.
    pub queued_max: usize,
    /// The guard of outgoing addresses.
    pub guard: Arc<Guard>,
}

/// How many name servers are used; more only delay a failure.
pub const NAME_SERVERS_MAX: usize = 8;

impl RealNetConfig {
    /// The defaults with this guard: the system's name servers, 2 rounds of 5 s, as many questions in flight as
    /// descriptors allow (1,024 at most) and 65,536 in all.
    pub fn new(guard: Arc<Guard>) -> Self {
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
    resolver: dns::Resolver,
    guard: Arc<Guard>,
}

impl RealNet {
    /// Sets the network up; no packet is sent yet. Fails where no name server is known. Call within a tokio runtime.
    pub fn new(config: RealNetConfig) -> io::Result<Self> {
        Ok(Self { resolver: dns::Resolver::new(&config)?, guard: config.guard })
    }
}

impl Net for RealNet {
    fn lookup<'a>(&'a self, name: &'a str, kind: Kind) -> BoxFuture<'a, Lookup> {
        Box::pin(self.resolver.lookup(name, kind))
    }

    fn connect(&self, dial: Dial) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>> {
        Box::pin(dial::connect(&self.guard, dial))
    }
}
