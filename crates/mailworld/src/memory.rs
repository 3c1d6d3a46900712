//! Runs a world in memory: the engine's network without a network.
//!
//! Connections are pipes, servers are tasks of the current runtime, time is tokio's. Under a paused clock on a single-threaded
//! runtime, one seed gives one run; [`MemoryNet::trace`] proves it. A connection counts as open until the client drops it, because
//! caps on connections are about that.

use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use probity_engine::net::{BoxFuture, ConnectFailure, DialRequest, Net, Stream};
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, QueryKind};
use probity_mail::rng::Rng;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::time::sleep;

use crate::clock::RunClock;
use crate::dialect::ServerDialect;
use crate::personality::Personality;
use crate::record::{Happening, HostCounts, OpenConnection, RecordedEvent, RunRecord, Trace, lock};
use crate::session::serve::{ConnectionContext, Ending, serve};
use crate::session::{ConnectionParties, ServerSession};
use crate::world::{Host, HostReach, World};

/// Capacity of a pipe in each direction, in bytes: about a socket's buffer.
const PIPE_BYTES: usize = 64 * 1024;

/// Time until a resolver gives up, in milliseconds.
const DNS_TIMEOUT_MS: u64 = 5_000;

/// Port of the hosts.
const SMTP_PORT: u16 = 25;

/// Address of a client without one (TEST-NET-2).
const ANONYMOUS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));

/// A world running in memory.
#[derive(Debug)]
pub struct MemoryNet {
    world: Arc<World>,
    record: Arc<RunRecord>,
    clock: RunClock,
    seed: u64,
}

impl World {
    /// Starts a run in memory; call within a tokio runtime.
    pub fn net(self: &Arc<Self>, seed: u64) -> Arc<MemoryNet> {
        self.run(seed, true)
    }

    /// The same without a trace or counts per name, so that memory stays constant in long runs.
    pub fn net_without_trace(self: &Arc<Self>, seed: u64) -> Arc<MemoryNet> {
        self.run(seed, false)
    }

    fn run(self: &Arc<Self>, seed: u64, traced: bool) -> Arc<MemoryNet> {
        let record = Arc::new(RunRecord::new(traced));
        Arc::new(MemoryNet { world: Arc::clone(self), record, clock: RunClock::start(), seed })
    }
}

impl MemoryNet {
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Counters of the host with this name.
    pub fn host(&self, name: &str) -> HostCounts {
        self.record.counts(name)
    }

    /// Sums over all hosts.
    pub fn hosts(&self) -> HostCounts {
        self.record.sums()
    }

    /// Number of queries for this name and kind.
    pub fn queries(&self, name: &str, kind: QueryKind) -> u64 {
        self.record.queries(name, kind)
    }

    /// Number of queries.
    pub fn query_total(&self) -> u64 {
        self.record.query_total()
    }

    /// Events so far.
    pub fn trace(&self) -> Trace {
        self.record.trace()
    }

    /// Replaces a host's personality from its next connection on.
    pub fn retune(&self, host: &str, personality: Personality) {
        *lock(&self.record.host(&host.into()).retuned) = Some(Arc::new(personality));
    }

    async fn dial(&self, dial: DialRequest) -> Result<Box<dyn Stream>, ConnectFailure> {
        let client = dial.source.public.or(dial.source.bind).unwrap_or(ANONYMOUS);
        let connection = self.record.connection();
        let found = self.world.host_at(dial.address);
        let name = found.as_ref().map_or_else(|| dial.address.to_string().into(), |(_, name)| Arc::clone(name));
        self.record.note(|| RecordedEvent {
            at_ms: self.clock.now_ms(),
            connection,
            name: Arc::clone(&name),
            what: Happening::Connect(client),
        });
        let reach = found.as_ref().map_or(HostReach::Silent, |(host, _)| host.reach);
        let latency_ms = found.as_ref().map_or(0, |(host, _)| u64::from(host.latency_ms));
        if reach == HostReach::Silent || latency_ms >= dial.timeout_ms {
            sleep(Duration::from_millis(dial.timeout_ms)).await;
            return Err(ConnectFailure::TimedOut);
        }
        sleep(Duration::from_millis(latency_ms)).await;
        match (reach, found) {
            (HostReach::Open, Some((host, name))) if dial.port == SMTP_PORT => {
                Ok(self.accept(&host, name, client, connection))
            }
            (HostReach::Unreachable, _) => Err(ConnectFailure::Unreachable),
            _ => Err(ConnectFailure::Refused),
        }
    }

    /// Starts the host's side of a connection; returns the client's.
    fn accept(&self, host: &Host, name: Arc<str>, client: IpAddr, connection: u64) -> Box<dyn Stream> {
        let wire = ConnectionContext {
            clock: self.clock,
            record: Arc::clone(&self.record),
            connection,
            host: name,
            latency_ms: u64::from(host.latency_ms),
        };
        let (mut session, open) = admit(&self.world, host, &wire, client, self.seed);
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let reset = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&reset);
        tokio::spawn(async move {
            let (ending, stream) = serve(ours, &mut session, &wire).await;
            // Set before the pipe is dropped.
            flag.store(ending == Ending::Reset, Ordering::Release);
            drop(stream);
        });
        Box::new(Pipe { inner: theirs, reset, _open: open })
    }

    async fn ask(&self, name: &str, kind: QueryKind) -> DnsLookup {
        let turn = self.record.query(name, kind);
        self.record.note(|| RecordedEvent {
            at_ms: self.clock.now_ms(),
            connection: 0,
            name: name.into(),
            what: Happening::Query(kind),
        });
        let lookup = self.world.find(name, kind, turn).lookup();
        let wait_ms = if lookup.answer == DnsAnswer::Failed(DnsFailure::TimedOut) {
            DNS_TIMEOUT_MS
        } else {
            u64::from(self.world.dns_latency_ms)
        };
        if wait_ms > 0 {
            sleep(Duration::from_millis(wait_ms)).await;
        }
        lookup
    }
}

/// Creates a session for a new connection and counts it.
pub(crate) fn admit(
    world: &Arc<World>,
    host: &Host,
    wire: &ConnectionContext,
    client: IpAddr,
    seed: u64,
) -> (ServerSession, OpenConnection) {
    // The hosts of a load test share one state: nobody reads their individual counters.
    let state = wire.record.host(&host.name);
    let retuned = lock(&state.retuned).clone();
    let personality = retuned.unwrap_or_else(|| Arc::clone(&host.personality));
    let dialect = ServerDialect::named(&personality.dialect).unwrap_or_else(|| Arc::clone(&host.dialect));
    let parties = ConnectionParties {
        world: Arc::clone(world),
        open: state.open(client),
        state: Arc::clone(&state),
        personality,
        dialect,
        host: Arc::clone(&wire.host),
        client,
    };
    let rng = Rng::new(seed ^ wire.connection.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (ServerSession::new(parties, rng), OpenConnection { state, source: client })
}

impl Net for MemoryNet {
    fn lookup<'a>(&'a self, name: &'a str, kind: QueryKind) -> BoxFuture<'a, DnsLookup> {
        Box::pin(self.ask(name, kind))
    }

    fn connect(&self, dial: DialRequest) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>> {
        Box::pin(self.dial(dial))
    }
}

/// Client's side of a connection.
struct Pipe {
    inner: DuplexStream,
    /// Whether the server reset the connection instead of closing it.
    reset: Arc<AtomicBool>,
    _open: OpenConnection,
}

impl AsyncRead for Pipe {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        let ended = matches!(polled, Poll::Ready(Ok(()))) && buf.filled().len() == before && buf.remaining() > 0;
        if ended && self.reset.load(Ordering::Acquire) {
            return Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into()));
        }
        polled
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
