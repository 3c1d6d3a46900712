//! Outgoing TCP connections: from a chosen local address, directly or through a SOCKS5 proxy.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_socks::tcp::Socks5Stream;

use crate::net::egress::EgressGuard;
use crate::net::{ConnectFailure, DialRequest, Proxy, Stream};

/// Maximum time for the proxy to accept, in milliseconds, as part of the whole dial; proxies are near.
const PROXY_ACCEPT_MS: u64 = 3_000;

/// ENFILE and EMFILE: the same numbers on every Unix.
const OUT_OF_DESCRIPTORS: [i32; 2] = [23, 24];

pub(crate) async fn connect(guard: &EgressGuard, dial: DialRequest) -> Result<Box<dyn Stream>, ConnectFailure> {
    if let Err(refusal) = guard.allows_dial(&dial) {
        tracing::debug!(%refusal, "not dialled");
        return Err(ConnectFailure::Guarded);
    }
    let whole = Duration::from_millis(dial.timeout_ms);
    let tcp = timeout(whole, open(&dial)).await.unwrap_or(Err(ConnectFailure::TimedOut))?;
    Ok(Box::new(Connection { tcp, finished: false }))
}

async fn open(dial: &DialRequest) -> Result<TcpStream, ConnectFailure> {
    let target = SocketAddr::new(dial.address.to_canonical(), dial.port);
    if let Some(proxy) = &dial.source.proxy {
        return through(proxy, dial.source.bind, target, dial.timeout_ms).await;
    }
    let tcp = direct(dial.source.bind, target).await?;
    // The checked address must be the connected one. It differs only if something between us and the kernel redirects.
    match tcp.peer_addr() {
        Ok(peer) if peer == target => Ok(tcp),
        Ok(_) => Err(ConnectFailure::Guarded),
        Err(error) => Err(failure(&error)),
    }
}

async fn direct(bind: Option<IpAddr>, target: SocketAddr) -> Result<TcpStream, ConnectFailure> {
    let socket = if target.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(|error| failure(&error))?;
    if let Some(bind) = bind {
        if bind.is_ipv4() != target.is_ipv4() {
            return Err(ConnectFailure::Unreachable);
        }
        // An invalid local address says nothing about the destination.
        socket.bind(SocketAddr::new(bind, 0)).map_err(|_| ConnectFailure::Local)?;
    }
    // Commands are small and each awaits its reply, so delaying them gains nothing.
    socket.set_nodelay(true).map_err(|error| failure(&error))?;
    socket.connect(target).await.map_err(|error| failure(&error))
}

/// RFC 1928. The proxy gets only addresses, never names: the guard has checked what is dialed.
async fn through(
    proxy: &Proxy,
    bind: Option<IpAddr>,
    target: SocketAddr,
    timeout_ms: u64,
) -> Result<TcpStream, ConnectFailure> {
    let accept = Duration::from_millis(PROXY_ACCEPT_MS.min(timeout_ms / 2));
    let tcp = match timeout(accept, direct(bind, proxy.address)).await {
        Ok(Ok(tcp)) => tcp,
        Ok(Err(ConnectFailure::Local)) => return Err(ConnectFailure::Local),
        Ok(Err(_)) | Err(_) => return Err(ConnectFailure::Proxy),
    };
    let dialogue = match &proxy.login {
        // RFC 1929.
        Some((user, password)) => Socks5Stream::connect_with_password_and_socket(tcp, target, user, password).await,
        None => Socks5Stream::connect_with_socket(tcp, target).await,
    };
    dialogue.map(Socks5Stream::into_inner).map_err(|error| proxy_failure(&error))
}

/// RFC 1928 section 6: some replies are about the destination, the rest about the proxy.
fn proxy_failure(error: &tokio_socks::Error) -> ConnectFailure {
    match error {
        tokio_socks::Error::ConnectionRefused => ConnectFailure::Refused,
        tokio_socks::Error::HostUnreachable | tokio_socks::Error::NetworkUnreachable => ConnectFailure::Unreachable,
        tokio_socks::Error::TtlExpired => ConnectFailure::TimedOut,
        _ => ConnectFailure::Proxy,
    }
}

fn failure(error: &io::Error) -> ConnectFailure {
    match error.kind() {
        _ if is_local(error) => ConnectFailure::Local,
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => ConnectFailure::Refused,
        io::ErrorKind::TimedOut => ConnectFailure::TimedOut,
        _ => ConnectFailure::Unreachable,
    }
}

/// Whether an error is about this machine: no descriptors, ports, memory or such address, or a local firewall's refusal.
pub(super) fn is_local(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::AddrInUse,
        io::ErrorKind::AddrNotAvailable,
        io::ErrorKind::OutOfMemory,
        io::ErrorKind::PermissionDenied,
    ];
    kinds.contains(&error.kind()) || error.raw_os_error().is_some_and(|code| OUT_OF_DESCRIPTORS.contains(&code))
}

/// A connection that is reset if dropped without a shutdown: an abandoned session leaves neither a socket waiting for the peer nor
/// unsent bytes, and its port is free at once.
struct Connection {
    tcp: TcpStream,
    finished: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.finished {
            // Fails only if the socket is gone already.
            let _ = self.tcp.set_zero_linger();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.finished = true;
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
