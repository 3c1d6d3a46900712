//! The listening socket: HTTP/1.1 and HTTP/2 (with prior knowledge) without TLS, which a proxy in front adds.
//!
//! Everything is bounded: connections (beyond the limit they wait in the system's queue), streams of a connection, the size
//! and the number of headers, the time for a header section, for idling, and for a client that does not take its answer
//! ([`pulse`]). Errors of accepting never end the loop: a connection that broke early is skipped, and when descriptors run out
//! the loop waits for others to close. At the end idle connections close at once, requests in flight may finish until the
//! deadline, and what is left then is cut. Until they have finished new connections are still taken, for one request each: so a
//! load balancer reads at `/readyz` that the node ends, and nobody meets a closed port while an answer could be had.
//!
//! A client that floods a connection with HTTP/2 frames, or asks on and takes none of its answers, is cut ([`frames`], [`pulse`]).
//!
//! What hyper refuses by itself is answered in our form ([`refusal`]): 400 for what is no HTTP (two different Content-Length, a
//! Transfer-Encoding that does not end in chunked), 431 for a header section, target included, over [`HEADERS_BYTES_MAX`] or
//! over 100 fields; the connection then closes. Only HTTP/2 has refusals without a form: broken frames, and a header section
//! over [`HEADERS_LIST_MAX`]. A connection goes on after a body that nobody has read, unless that is large ([`rest`]). A request
//! with
//! both Content-Length and Transfer-Encoding is read as chunked and its connection closed after the answer (RFC 9112 §6.1), so
//! nothing can be smuggled behind it.

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
use probity_engine::clock::Clock;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

use crate::peer::Peer;
use pulse::{Overdue, Pulse, Tracked};
pub(crate) use refusal::Unreadable;
use wire::Wire;

/// The most bytes of a header section, target included; also the read buffer of a connection. An address that is too long for
/// the API, but no attack, still gets an answer about the address.
pub const HEADERS_BYTES_MAX: usize = 64 << 10;
/// The most bytes of an HTTP/2 header section that is read at all: the shell refuses from [`HEADERS_BYTES_MAX`] on, with the
/// envelope, and the library below from here on, without one.
const HEADERS_LIST_MAX: u32 = 128 << 10;
/// The most requests at a time on one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
/// Bytes of answers that the system holds for a client. Left to itself it holds megabytes, and reports that it takes more only
/// when a third of them is gone: for over a minute a client that reads slowly, but reads, would look like one that does not.
const SEND_BUFFER: u32 = 128 << 10;
/// Connections that wait in the system's queue.
const BACKLOG: u32 = 1_024;
/// How long accepting pauses when the system has no descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits of the listening socket.
#[derive(Clone, Copy, Debug)]
pub struct ListenConfig {
    /// The most connections at a time.
    pub connections_max: usize,
    /// From the first byte of a request (of a new connection: from its acceptance) to the end of its header section.
    pub header_timeout: Duration,
    /// How long a connection may be open without a request.
    pub idle_timeout: Duration,
    /// How long a connection with a request in flight may move no byte either way, and how long a client may take nothing of an
    /// answer that waits for it. Must exceed the request's deadline, during which nothing moves.
    pub stall_timeout: Duration,
    /// How long requests in flight may go on after the stop.
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
    /// No limit of a connection can be over before this, whatever begins now.
    fn shortest(&self) -> Duration {
        self.header_timeout.min(self.idle_timeout).min(self.stall_timeout)
    }
}

/// How a listening socket ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Connections that had to be cut because they were still open at the deadline.
    pub cut: usize,
}

/// A bound socket. Connections queue from now on, and are served by [`Listener::serve`].
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds `address`; port 0 takes a free one. On Unix the port may still be warm from an earlier process (`SO_REUSEADDR`;
    /// elsewhere that would let two processes share it).
    #[expect(clippy::unused_async, reason = "a socket belongs to a runtime")]
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(cfg!(unix))?;
        // Accepted connections inherit it.
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `routes` until `stop` is cancelled and the last connection from before has ended.
    pub async fn serve(self, routes: Router, config: ListenConfig, clock: Clock, stop: CancellationToken) -> Stopped {
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

/// Waits for a place and then for a connection.
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

/// The connection was gone before it was accepted; the next one may be fine.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

type Http = auto::Builder<TokioExecutor>;

fn http() -> Http {
    let mut http = Http::new(TokioExecutor::new());
    // The parser takes at most 100 fields unless told otherwise; being told costs an allocation for each request. Times are
    // kept by the pulse: hyper's own limit for headers also runs while a connection is idle.
    http.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEADERS_BYTES_MAX);
    http.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX).max_header_list_size(HEADERS_LIST_MAX);
    http
}

#[derive(Clone)]
struct Server {
    routes: Router,
    config: ListenConfig,
    clock: Clock,
    http: Arc<Http>,
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Server {
    /// A connection that came after the stop: one request, and it closes.
    async fn last_words(mut self, accepted: Accepted) {
        let mut http = http();
        http.http1().keep_alive(false);
        self.http = Arc::new(http);
        self.stop = CancellationToken::new();
        self.connection(accepted).await;
    }

    async fn connection(self, accepted: Accepted) {
        // Without it small answers may wait for the acknowledgement of the ones before; failing, they only wait.
        let _ = accepted.stream.set_nodelay(true);
        let pulse = Arc::new(Pulse::new(self.clock));
        let io = TokioIo::new(Wire::new(accepted.stream, Arc::clone(&pulse), self.routes.clone()));
        let service = {
            let (pulse, routes, peer) = (Arc::clone(&pulse), self.routes.clone(), Peer(accepted.peer));
            service_fn(move |request: hyper::Request<Incoming>| answer(routes.clone(), request, peer, &pulse))
        };
        let mut connection = pin!(self.http.serve_connection(io, service));
        // Tokens of its own: waiting on a shared one would take a lock that all connections share.
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
                    // HTTP/2 has a goodbye for it; who does not take that either is cut at the next look.
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

/// Hands a request to the routes, and counts it as in flight until its answer's body has been taken or dropped.
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
