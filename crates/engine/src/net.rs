//! The network as the engine sees it: names to records, addresses to byte streams.
//!
//! [`Net`] has two implementations: `real` (hickory, tokio, SOCKS5) and the simulated internet of `probity-mailworld`.
//! An implementation looks up and dials; it neither caches nor judges. The egress guard stands in front of
//! [`Net::connect`]: the engine hands over only addresses that it has let through, and an implementation that reaches a real
//! network checks once more.

pub mod real;

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use probity_mail::dns::{Kind, Lookup};
use tokio::io::{AsyncRead, AsyncWrite};

/// A boxed future, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A connection's byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// One identity from which we ask: what mail servers know us by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The local address to bind; none leaves the choice to the system.
    pub bind: Option<IpAddr>,
    /// The address that servers see; pacing counts by it. Differs from `bind` behind NAT.
    pub public: Option<IpAddr>,
    /// The name for EHLO: the PTR name of the public address.
    pub helo: String,
    /// A SOCKS5 proxy through which this source dials.
    pub proxy: Option<Proxy>,
}

impl Source {
    /// What this source is called wherever several machines must mean the same: the address that servers see, or, where none
    /// is configured, the HELO name.
    pub fn name(&self) -> std::sync::Arc<str> {
        match self.public.or(self.bind) {
            Some(address) => address.to_canonical().to_string().into(),
            None => self.helo.to_ascii_lowercase().into(),
        }
    }
}

/// A SOCKS5 proxy (RFC 1928), with a user and a password (RFC 1929) or without.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Proxy {
    /// `host:port`, the host an IP address.
    pub address: std::net::SocketAddr,
    /// The user's name and password.
    pub login: Option<(String, String)>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password must not reach a log.
        write!(f, "Proxy({})", self.address)
    }
}

/// What to dial.
#[derive(Clone, Debug)]
pub struct Dial {
    /// The exchanger's address; the egress guard has let it through.
    pub address: IpAddr,
    /// The exchanger's port: 25 outside tests.
    pub port: u16,
    /// The identity to dial from.
    pub source: Arc<Source>,
    /// How long the connection may take, in milliseconds.
    pub timeout_ms: u64,
}

/// Why there is no connection. An observation, not an error of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConnectFailure {
    /// Nothing listens there.
    Refused,
    /// No answer in time.
    TimedOut,
    /// No route.
    Unreachable,
    /// The egress guard does not let us dial this address.
    Guarded,
    /// The proxy failed or refused.
    Proxy,
    /// This machine is at its limits (file descriptors, ports, no such local address): nothing about the destination.
    Local,
}

/// The network.
pub trait Net: Send + Sync + 'static {
    /// Looks a name up. `name` is absolute, in lower-case A-labels without the last dot (for [`Kind::Ptr`] the reverse name).
    fn lookup<'a>(&'a self, name: &'a str, kind: Kind) -> BoxFuture<'a, Lookup>;

    /// Opens a connection.
    fn connect(&self, dial: Dial) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>>;
}
