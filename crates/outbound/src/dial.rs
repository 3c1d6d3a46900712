//! Connects to addresses from the [guard](super::guard), which checks them again immediately before dialing.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_engine::net::Stream;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::authorities::Authorities;
use super::guard::UrlGuard;
use super::target::HttpTarget;

/// Maximum number of addresses per attempt.
const ADDRESSES_MAX: usize = 4;

/// Reason why no connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialFailure {
    /// The guard refuses an address, or http.
    Blocked,
    /// The name has no address.
    Unresolved,
    /// The host accepts no connection.
    Refused,
    Timeout,
    /// The host has no trusted certificate, or no TLS.
    Tls,
    /// The node is at its own limits.
    Local,
}

/// Dialer of connections. Cheap to clone.
#[derive(Clone)]
pub struct Dialer {
    tls: TlsConnector,
}

impl Dialer {
    /// Creates a dialer that trusts the public certificate authorities and the operator's.
    pub fn trusting(authorities: &Authorities) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has suites for both versions")
            .with_root_certificates(authorities.with_public())
            .with_no_client_auth();
        Self { tls: TlsConnector::from(Arc::new(config)) }
    }

    /// Opens a connection. `connect` is the maximum time for TCP over all addresses; the caller limits the rest.
    pub async fn open(
        &self,
        guard: &UrlGuard,
        target: &HttpTarget,
        connect: Duration,
    ) -> Result<Box<dyn Stream>, DialFailure> {
        let addresses = guard.addresses(target).await?;
        let tried = &addresses[..addresses.len().min(ADDRESSES_MAX)];
        let share = connect / u32::try_from(tried.len().max(1)).unwrap_or(1);
        let mut failure = DialFailure::Unresolved;
        for address in tried {
            if !guard.allows(target, *address) {
                return Err(DialFailure::Blocked);
            }
            match timeout(share, dial(*address)).await.unwrap_or(Err(DialFailure::Timeout)) {
                Ok(stream) if target.is_https() => return self.encrypt(target, stream).await,
                Ok(stream) => return Ok(Box::new(stream)),
                Err(why) => failure = why,
            }
        }
        Err(failure)
    }

    async fn encrypt(&self, target: &HttpTarget, stream: TcpStream) -> Result<Box<dyn Stream>, DialFailure> {
        let name = ServerName::try_from(target.certified().to_owned()).map_err(|_| DialFailure::Tls)?;
        let encrypted = self.tls.connect(name, stream).await.map_err(|_| DialFailure::Tls)?;
        Ok(Box::new(encrypted))
    }
}

async fn dial(address: SocketAddr) -> Result<TcpStream, DialFailure> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(|_| DialFailure::Local)?;
    let stream = socket.connect(address).await.map_err(|error| unreached(&error))?;
    // A request is a single write, so there is nothing to coalesce.
    let _ = stream.set_nodelay(true);
    // The peer must be the checked address. They differ only if something between this process and the kernel redirects.
    match stream.peer_addr() {
        Ok(peer) if peer == address => Ok(stream),
        Ok(_) => Err(DialFailure::Blocked),
        Err(_) => Err(DialFailure::Refused),
    }
}

fn unreached(error: &io::Error) -> DialFailure {
    /// ENFILE and EMFILE, which have the same numbers on every Unix.
    const OUT_OF_DESCRIPTORS: [i32; 2] = [23, 24];
    match error.kind() {
        io::ErrorKind::TimedOut => DialFailure::Timeout,
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory => DialFailure::Local,
        _ if error.raw_os_error().is_some_and(|code| OUT_OF_DESCRIPTORS.contains(&code)) => DialFailure::Local,
        _ => DialFailure::Refused,
    }
}
