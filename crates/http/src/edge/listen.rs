//! Listening socket for HTTP/1.1 and HTTP/2 with prior knowledge. A reverse proxy adds TLS.
//!
//! - Everything is bounded: connections (others wait in the system's queue), streams, headers, idle and stalled clients
//!   ([`pulse`]). A client that floods a connection with HTTP/2 frames is cut ([`frames`]).
//! - Errors of accepting never end the loop. If descriptors run out, it waits for connections to close.
//! - At the stop, idle connections close and requests in flight may finish until the deadline. Until they have, a new
//!   connection gets one request, so that a load balancer sees at `/readyz` that the node is shutting down.
//! - Requests that hyper rejects get our envelope ([`refusal`]), except broken HTTP/2 frames and headers over
//!   [`HEADERS_LIST_MAX`].
//! - A connection survives an unread body unless the body is large ([`rest`]). A request with both Content-Length and
//!   Transfer-Encoding is read as chunked, and its connection closes, which prevents smuggling (RFC 9112 §6.1).

mod frames;
mod pulse;
mod refusal;
mod rest;
mod wire;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use probity_engine::clock::EngineClock;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

use crate::edge::peer::Peer;
use pulse::{Overdue, Pulse, Tracked};
pub(crate) use refusal::UnreadableRequest;
use wire::WireStream;

/// Maximum size of a header section in bytes, request target included; also the read buffer of a connection. It is far above
/// the longest valid address, so that an overlong address still gets an error about the address.
pub const HEADERS_BYTES_MAX: usize = 64 << 10;
/// Maximum size of an HTTP/2 header section that hyper reads, in bytes. From [`HEADERS_BYTES_MAX`] on, the shell rejects the
/// request with the envelope; above this limit, hyper rejects it without one.
const HEADERS_LIST_MAX: u32 = 128 << 10;
/// Maximum number of concurrent requests on an HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
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
    /// Time from the first byte of a request (on a new connection: from its acceptance) to the end of its header section.
    pub header_timeout: Duration,
    /// Time for which a connection may be open without a request.
    pub idle_timeout: Duration,
    /// Maximum time without a byte in either direction while a request is in flight, and without progress while a response is
    /// being sent. Must exceed the request's deadline, during which nothing is transferred.
    pub stall_timeout: Duration,
    /// Time for which requests in flight may continue after the stop.
    pub shutdown_timeout: Duration,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            stall_timeout: Duration::from_secs(150),
            shutdown_timeout: Duration::from_secs(80),
        }
    }
}

impl ListenConfig {
    /// Returns the shortest limit: none can be exceeded earlier than this from now.
    fn shortest(&self) -> Duration {
        self.header_timeout.min(self.idle_timeout).min(self.stall_timeout)
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
    pub async fn serve(
        self,
        routes: Router,
        config: ListenConfig,
        clock: EngineClock,
        stop: CancellationToken,
    ) -> Stopped {
        let tasks = TaskTracker::new();
        let cut = CancellationToken::new();
        let places = Arc::new(Semaphore::new(config.connections_max.clamp(1, Semaphore::MAX_PERMITS)));
        let server = Server { routes, config, clock, http: Arc::new(http()), stop: stop.clone(), cut: cut.clone() };
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

type Http = auto::Builder<TokioExecutor>;

fn http() -> Http {
    let mut http = Http::new(TokioExecutor::new());
    // The parser accepts at most 100 fields by default; setting the limit would cost an allocation per request. The pulse keeps
    // the times, because hyper's own limit for headers also runs while a connection is idle.
    http.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEADERS_BYTES_MAX);
    http.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX).max_header_list_size(HEADERS_LIST_MAX);
    http
}

#[derive(Clone)]
struct Server {
    routes: Router,
    config: ListenConfig,
    clock: EngineClock,
    http: Arc<Http>,
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Server {
    /// Serves a connection that was accepted after the stop: it closes after one request.
    async fn last_words(mut self, accepted: Accepted) {
        let mut http = http();
        http.http1().keep_alive(false);
        self.http = Arc::new(http);
        self.stop = CancellationToken::new();
        self.connection(accepted).await;
    }

    async fn connection(self, accepted: Accepted) {
        // Otherwise, small responses may wait for the acknowledgment of earlier ones. If the option cannot be set, they just
        // wait.
        let _ = accepted.stream.set_nodelay(true);
        let pulse = Arc::new(Pulse::new(self.clock));
        let io = TokioIo::new(WireStream::new(accepted.stream, Arc::clone(&pulse), self.routes.clone()));
        let service = {
            let (pulse, routes, peer) = (Arc::clone(&pulse), self.routes.clone(), Peer(accepted.peer));
            service_fn(move |request: hyper::Request<Incoming>| answer(routes.clone(), request, peer, &pulse))
        };
        let mut connection = pin!(self.http.serve_connection(io, service));
        // Child tokens: waiting for a shared token would take a lock that all connections share.
        let (stop, cut) = (self.stop.child_token(), self.cut.child_token());
        let (mut stop, mut cut) = (pin!(stop.cancelled()), pin!(cut.cancelled()));
        let mut closing = false;
        let mut look = pin!(tokio::time::sleep(self.config.shortest()));
        loop {
            tokio::select! {
                biased;
                _ = connection.as_mut() => return,
                () = stop.as_mut(), if !closing => {
                    closing = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = cut.as_mut() => return,
                () = look.as_mut() => match pulse.judge(&self.config) {
                    Ok(next) => look.set(tokio::time::sleep(next)),
                    // HTTP/2 has a GOAWAY frame for this. A client that does not read it is cut at the next check.
                    Err(Overdue::Idle) if !closing => {
                        closing = true;
                        connection.as_mut().graceful_shutdown();
                        look.set(tokio::time::sleep(self.config.header_timeout));
                    }
                    Err(_) => return,
                },
            }
        }
    }
}

/// Passes a request to the routes. Counts it as in flight until its response body is sent or dropped.
fn answer(
    mut routes: Router,
    request: hyper::Request<Incoming>,
    peer: Peer,
    pulse: &Arc<Pulse>,
) -> impl Future<Output = Result<hyper::Response<Tracked>, Infallible>> + use<> {
    let flight = Pulse::take_off(pulse, request.version());
    let (mut request, rest) = rest::lend(request);
    request.extensions_mut().insert(peer);
    let response = routes.call(request);
    async move {
        let mut response = response.await?;
        if let Some(rest) = rest {
            rest.settle(&mut response).await;
        }
        Ok(response.map(|body| Tracked::new(body, flight)))
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
