//! Listening socket for HTTP/1.1. A reverse proxy adds TLS and HTTP/2.
//!
//! - Everything is bounded: connections (others wait in the system's queue), headers, and clients that send no headers (hyper) or
//!   read no responses ([`write_timeout`]). Bodies have their own limits ([`crate::request::body`]).
//! - Errors of accepting never end the loop. If descriptors run out, it waits for connections to close.
//! - At the stop, idle connections close and requests in flight may finish until the deadline. Until they have, a new
//!   connection gets one request, so that a load balancer sees at `/readyz` that the node is shutting down.
//! - hyper itself answers malformed requests (400) and headers over [`HEAD_BUFFER`] or [`HEAD_FIELDS`] (414 or 431), without our
//!   envelope.
//! - A connection survives an unread body unless the body is large ([`rest`]). A request with both Content-Length and
//!   Transfer-Encoding is read as chunked, and its connection closes, which prevents smuggling (RFC 9112 §6.1).

mod rest;
mod write_timeout;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

use crate::edge::peer::Peer;
use write_timeout::WriteTimeout;

/// Maximum size of a header section in bytes, request target included. It is far above the longest valid address, so that an
/// overlong address still gets an error about the address.
pub const HEADERS_BYTES_MAX: usize = 64 << 10;
/// Maximum number of header fields.
pub(crate) const HEADERS_MAX: usize = 100;
/// Read buffer of a connection, in bytes. It is larger than a permitted header section, so that the shell can reject one that is
/// not much too large, with the envelope.
const HEAD_BUFFER: usize = HEADERS_BYTES_MAX / 2 * 3;
/// Number of header fields that hyper reads; more than permitted, for the same reason.
const HEAD_FIELDS: usize = HEADERS_MAX * 2;
/// Size of the system's send buffer for a client, in bytes. By default, the system buffers megabytes and reports free space
/// only when a third is sent. For over a minute, a slow reader would look like a client that does not read.
const SEND_BUFFER: u32 = 128 << 10;
/// Length of the system's queue of connections.
const BACKLOG: u32 = 1_024;
/// Pause before the next accept if the system has no descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits of the listening socket.
#[derive(Clone, Copy, Debug)]
pub struct ListenConfig {
    /// Maximum number of concurrent connections.
    pub connections_max: usize,
    /// Maximum wait for the header section of a request, from the acceptance of the connection or the previous response. It is
    /// therefore the idle time too, and should exceed that of a reverse proxy, which could otherwise use a connection just as it
    /// closes.
    pub header_timeout: Duration,
    /// Maximum time for which a client may accept no byte of a response.
    pub write_timeout: Duration,
    /// Time for which requests in flight may continue after the stop.
    pub shutdown_timeout: Duration,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            header_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(150),
            shutdown_timeout: Duration::from_secs(80),
        }
    }
}

/// Outcome of serving a listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Connections that were cut because they were still open at the deadline.
    pub cut: usize,
}

/// Bound socket. Connections queue from now on, and [`Listener::serve`] serves them.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds `address`; port 0 selects a free port. On Unix, a port that an earlier process has just used can be bound at once
    /// (`SO_REUSEADDR`). Elsewhere, that option would let two processes share the port.
    #[expect(clippy::unused_async, reason = "a socket belongs to a runtime")]
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(cfg!(unix))?;
        // Accepted connections inherit this size.
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `routes` until `stop` is canceled and the last connection from before the stop has ended.
    pub async fn serve(self, routes: Router, config: ListenConfig, stop: CancellationToken) -> Stopped {
        let tasks = TaskTracker::new();
        let cut = CancellationToken::new();
        let places = Arc::new(Semaphore::new(config.connections_max.clamp(1, Semaphore::MAX_PERMITS)));
        let server = Server { routes, config, keep_alive: true, stop: stop.clone(), cut: cut.clone() };
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                accepted = accept(&self.socket, &places) => accepted,
            };
            tasks.spawn(server.clone().connection(accepted));
        }
        tasks.close();
        let late = TaskTracker::new();
        let draining = async {
            loop {
                tokio::select! {
                    biased;
                    () = tasks.wait() => return,
                    accepted = accept(&self.socket, &places) => late.spawn(server.clone().last_words(accepted)),
                };
            }
        };
        let ended = tokio::time::timeout(config.shutdown_timeout, draining).await;
        drop(self.socket);
        let left = if ended.is_ok() { 0 } else { tasks.len() };
        cut.cancel();
        late.close();
        tokio::join!(tasks.wait(), late.wait());
        Stopped { cut: left }
    }
}

struct Accepted {
    stream: TcpStream,
    peer: SocketAddr,
    _place: OwnedSemaphorePermit,
}

/// Waits for a free slot, and then for a connection.
async fn accept(socket: &TcpListener, places: &Arc<Semaphore>) -> Accepted {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => return Accepted { stream, peer, _place: place },
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections; retrying");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Returns whether the error concerns only one connection, which was gone before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[derive(Clone)]
struct Server {
    routes: Router,
    config: ListenConfig,
    keep_alive: bool,
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Server {
    /// Serves a connection that was accepted after the stop: it closes after one request.
    async fn last_words(mut self, accepted: Accepted) {
        self.keep_alive = false;
        self.stop = CancellationToken::new();
        self.connection(accepted).await;
    }

    fn http(&self) -> http1::Builder {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.config.header_timeout).keep_alive(self.keep_alive);
        http.max_buf_size(HEAD_BUFFER).max_headers(HEAD_FIELDS);
        http
    }

    async fn connection(self, accepted: Accepted) {
        // Otherwise, small responses may wait for the acknowledgment of earlier ones. If the option cannot be set, they just
        // wait.
        let _ = accepted.stream.set_nodelay(true);
        let io = TokioIo::new(WriteTimeout::new(accepted.stream, self.config.write_timeout));
        let (http, peer) = (self.http(), Peer(accepted.peer));
        let service = service_fn(move |request| answer(self.routes.clone(), request, peer));
        let mut connection = pin!(http.serve_connection(io, service));
        // Child tokens: waiting for a shared token would take a lock that all connections share.
        let (stop, cut) = (self.stop.child_token(), self.cut.child_token());
        let (mut stop, mut cut) = (pin!(stop.cancelled()), pin!(cut.cancelled()));
        let mut closing = false;
        loop {
            tokio::select! {
                biased;
                _ = connection.as_mut() => return,
                () = stop.as_mut(), if !closing => {
                    closing = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = cut.as_mut() => return,
            }
        }
    }
}

/// Passes a request to the routes, and deals with the unread rest of its body.
fn answer(
    mut routes: Router,
    request: hyper::Request<Incoming>,
    peer: Peer,
) -> impl Future<Output = Result<hyper::Response<Body>, Infallible>> {
    let (mut request, rest) = rest::lend(request);
    request.extensions_mut().insert(peer);
    let response = routes.call(request);
    async move {
        let mut response = response.await?;
        if let Some(rest) = rest {
            rest.settle(&mut response).await;
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trouble_of_the_machine_makes_accepting_pause() {
        let error = io::Error::from_raw_os_error;
        // ECONNABORTED, ECONNRESET; EMFILE, ENFILE, ENOBUFS, ENOMEM as Linux numbers them.
        assert!([103, 104].map(error).iter().all(is_of_one_connection));
        assert!(![24, 23, 105, 12].map(error).iter().any(is_of_one_connection));
    }
}
