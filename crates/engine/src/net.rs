//! The network as the engine sees it: names to records, addresses to byte streams.
//!
//! [`Net`] has two implementations: `real` (hickory, tokio, SOCKS5) and the simulated internet of `probity-mailworld`. An
//! implementation looks up and dials; it neither caches nor judges. The egress guard precedes [`Net::connect`]: the engine passes
//! only addresses that the guard allows, and an implementation over a real network checks again.

mod answer;
pub mod descriptors;
mod dial;
mod dns;
pub mod egress;
pub(crate) mod link;
mod names;
pub mod real;
pub mod tls;

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use probity_mail::dns::{DnsLookup, QueryKind};
use tokio::io::{AsyncRead, AsyncWrite};

/// Boxed future, for trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Byte stream of a connection.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An identity that probes: what mail servers see of us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeSource {
    /// Local address to bind; `None` lets the system choose.
    pub bind: Option<IpAddr>,
    /// Public address, by which pacing counts. Differs from `bind` behind NAT.
    pub public: Option<IpAddr>,
    /// Name for EHLO: the PTR name of the public address.
    pub helo: String,
    /// SOCKS5 proxy through which this source dials.
    pub proxy: Option<Proxy>,
}

impl ProbeSource {
    /// Name of this source across machines: its public address or, if none is configured, the HELO name.
    pub fn name(&self) -> std::sync::Arc<str> {
        match self.public.or(self.bind) {
            Some(address) => address.to_canonical().to_string().into(),
            None => self.helo.to_ascii_lowercase().into(),
        }
    }
}

/// A SOCKS5 proxy (RFC 1928), with or without user and password (RFC 1929).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Proxy {
    /// `host:port`; the host is an IP address.
    pub address: std::net::SocketAddr,
    /// User name and password.
    pub login: Option<(String, String)>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password must not reach a log.
        write!(f, "Proxy({})", self.address)
    }
}

#[derive(Clone, Debug)]
pub struct DialRequest {
    /// Address of the MX host, allowed by the egress guard.
    pub address: IpAddr,
    /// Port of the MX host: 25 outside tests.
    pub port: u16,
    /// Identity to dial from.
    pub source: Arc<ProbeSource>,
    /// Maximum time to connect, in milliseconds.
    pub timeout_ms: u64,
}

/// Reason why there is no connection. An observation, not an error of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConnectFailure {
    Refused,
    /// No response in time.
    TimedOut,
    Unreachable,
    /// The egress guard forbids this address.
    Guarded,
    /// The proxy failed or refused.
    Proxy,
    /// This machine is at its limits (file descriptors, ports, no such local address); says nothing about the destination.
    Local,
}

pub trait Net: Send + Sync + 'static {
    /// Looks a name up. `name` is absolute, in lower-case A-labels without the last dot (for [`QueryKind::Ptr`] the reverse name).
    fn lookup<'a>(&'a self, name: &'a str, kind: QueryKind) -> BoxFuture<'a, DnsLookup>;

    fn connect(&self, dial: DialRequest) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>>;
}
