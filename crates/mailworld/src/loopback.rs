//! Runs a world on loopback sockets: a DNS server over UDP and TCP, and all MX hosts behind one listener.
//!
//! Each host has its own address in 127.0.0.0/8, all on one port. One socket bound to 0.0.0.0 serves them: the local address of an
//! accepted connection identifies the host, so 10,000 hosts cost nothing. Traffic from outside 127.0.0.0/8 is dropped at once.
//!
//! Addresses of the world map to loopback: 11.x.y.z, assigned to hosts, to 127.x.y.z; any other address of a host to one of
//! 127.2.0.0/16. Addresses without a host are announced unchanged (a zone that points to 10.0.0.1 exists to be rejected). There is
//! no IPv6: AAAA is always empty.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::clock::RunClock;
use crate::dns::{QueryTransport, respond};
use crate::memory::admit;
use crate::record::{HostCounts, RunRecord};
use crate::session::serve::{ConnectionContext, Ending, serve};
use crate::world::{HostReach, World, ZoneAnswer, reverse};

/// Maximum connections waiting to be accepted; the system's own limit may be lower.
const BACKLOG: u32 = 4_096;

/// Idle timeout of a DNS client over TCP.
const DNS_IDLE: Duration = Duration::from_secs(30);

/// Listening addresses, and added latency.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// DNS server's address; with port 0 the system chooses.
    pub dns: SocketAddr,
    /// Port of all MX hosts; with 0 the system chooses.
    pub smtp_port: u16,
    /// Wait for each received batch of commands, in milliseconds, in addition to the hosts' own latencies.
    pub command_latency_ms: u64,
}

impl Default for Bind {
    fn default() -> Self {
        Self { dns: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), smtp_port: 0, command_latency_ms: 0 }
    }
}

/// A running world on loopback. Dropping it closes everything.
#[derive(Debug)]
pub struct LoopbackWorld {
    shared: Arc<SharedWorld>,
    dns: SocketAddr,
    smtp_port: u16,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedWorld {
    world: Arc<World>,
    record: Arc<RunRecord>,
    clock: RunClock,
    /// Loopback addresses of hosts outside the block that maps by rule.
    there: BTreeMap<IpAddr, Ipv4Addr>,
    back: BTreeMap<Ipv4Addr, IpAddr>,
    command_latency_ms: u64,
}

impl LoopbackWorld {
    /// Opens the sockets and serves on the current runtime.
    pub async fn start(world: Arc<World>, bind: Bind) -> io::Result<Self> {
        let shared = Arc::new(SharedWorld::new(world, bind.command_latency_ms));
        let (udp, tcp) = bind_dns(bind.dns).await?;
        let dns = udp.local_addr()?;
        let listener = listen(bind.smtp_port)?;
        let smtp_port = listener.local_addr()?.port();
        let tasks = vec![
            tokio::spawn(serve_udp(Arc::clone(&shared), Arc::new(udp))),
            tokio::spawn(serve_tcp(Arc::clone(&shared), tcp)),
            tokio::spawn(accept(Arc::clone(&shared), listener)),
        ];
        Ok(Self { shared, dns, smtp_port, tasks })
    }

    /// Address of the DNS server, UDP and TCP.
    pub fn dns(&self) -> SocketAddr {
        self.dns
    }

    /// Port of the MX hosts.
    pub fn smtp_port(&self) -> u16 {
        self.smtp_port
    }

    /// Counters of the host with this name; the MX hosts of [`load`](crate::load) count as `mx.load.test`.
    pub fn host(&self, name: &str) -> HostCounts {
        self.shared.record.counts(name)
    }

    /// Sums over all hosts.
    pub fn hosts(&self) -> HostCounts {
        self.shared.record.sums()
    }

    /// Number of queries that the DNS server received.
    pub fn query_total(&self) -> u64 {
        self.shared.record.query_total()
    }
}

impl Drop for LoopbackWorld {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl SharedWorld {
    fn new(world: Arc<World>, command_latency_ms: u64) -> Self {
        let others = world.by_address.keys().filter(|address| address.is_ipv4() && !maps_by_itself(**address));
        let there: BTreeMap<_, _> =
            others.zip(0x7f02_0001u32..=0x7f02_ffff).map(|(from, to)| (*from, Ipv4Addr::from(to))).collect();
        let back = there.iter().map(|(from, to)| (*to, *from)).collect();
        Self {
            world,
            record: Arc::new(RunRecord::new(false)),
            clock: RunClock::start(),
            there,
            back,
            command_latency_ms,
        }
    }

    /// A world's address as the loopback DNS announces it.
    fn announced(&self, address: IpAddr) -> IpAddr {
        if let Some(mapped) = self.there.get(&address) {
            return IpAddr::V4(*mapped);
        }
        match address {
            IpAddr::V4(v4) if maps_by_itself(address) => {
                let [_, b, c, d] = v4.octets();
                IpAddr::V4(Ipv4Addr::new(127, b, c, d))
            }
            _ => address,
        }
    }

    /// The world's address for a loopback address.
    fn meant(&self, address: Ipv4Addr) -> IpAddr {
        let [_, b, c, d] = address.octets();
        self.back.get(&address).copied().unwrap_or_else(|| IpAddr::V4(Ipv4Addr::new(11, b, c, d)))
    }

    /// Answers a query in terms of loopback addresses.
    fn find(&self, name: &str, kind: QueryKind) -> ZoneAnswer {
        let turn = self.record.query(name, kind);
        let mut found = match reverse(name) {
            Some(IpAddr::V4(v4)) if v4.is_loopback() => self.world.find(&reverse_name(self.meant(v4)), kind, turn),
            _ => self.world.find(name, kind, turn),
        };
        if kind == QueryKind::Aaaa && matches!(found.answer, DnsAnswer::Records(_)) {
            found.answer = DnsAnswer::Empty;
        }
        if let DnsAnswer::Records(records) = &mut found.answer {
            for record in records {
                if let DnsRecord::Address(address) = record {
                    *address = self.announced(*address);
                }
            }
        }
        found
    }

    async fn dns_latency(&self) {
        if self.world.dns_latency_ms > 0 {
            sleep(Duration::from_millis(u64::from(self.world.dns_latency_ms))).await;
        }
    }
}

/// Whether this is one of the addresses that the world assigns to hosts.
fn maps_by_itself(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.octets()[0] == 11)
}

fn reverse_name(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(_) => String::new(),
    }
}

/// Binds one port for both transports; a port that the system chose for UDP may be in use for TCP, then another is tried.
async fn bind_dns(address: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    const TRIES: usize = 10;
    let mut last = None;
    for _ in 0..TRIES {
        let udp = UdpSocket::bind(address).await?;
        match TcpListener::bind(udp.local_addr()?).await {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(error) if address.port() == 0 => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.expect("a failed try left its error"))
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the task is aborted; the connections end with it.
async fn accept(shared: Arc<SharedWorld>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                connections.spawn(Arc::clone(&shared).exchange(stream, peer));
            }
            Err(error) => {
                // Mostly out of file descriptors: ending connections free some.
                tracing::warn!(%error, "the world cannot accept a connection");
                sleep(Duration::from_millis(20)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

impl SharedWorld {
    async fn exchange(self: Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let Ok(SocketAddr::V4(local)) = stream.local_addr() else {
            return;
        };
        if !local.ip().is_loopback() || !peer.ip().is_loopback() {
            return;
        }
        let Some((host, name)) = self.world.host_at(self.meant(*local.ip())) else {
            reset(&stream);
            return;
        };
        match host.reach {
            HostReach::Open => {}
            HostReach::Refused | HostReach::Unreachable => {
                reset(&stream);
                return;
            }
            HostReach::Silent => {
                let mut stream = stream;
                while let Ok(1..) = stream.read(&mut [0; 512]).await {}
                return;
            }
        }
        // Otherwise a reply could wait for the acknowledgment of the one before.
        let _best_effort = stream.set_nodelay(true);
        let wire = ConnectionContext {
            clock: self.clock,
            connection: self.record.connection(),
            record: Arc::clone(&self.record),
            host: name,
            latency_ms: u64::from(host.latency_ms) + self.command_latency_ms,
        };
        let (mut session, _open) = admit(&self.world, &host, &wire, peer.ip(), 0);
        let (ending, stream) = serve(stream, &mut session, &wire).await;
        if let (Ending::Reset, Some(stream)) = (ending, stream) {
            reset(&stream);
        }
    }
}

/// Makes the next close a reset.
fn reset(stream: &TcpStream) {
    // A closed socket needs no reset.
    let _gone = stream.set_zero_linger();
}

async fn serve_udp(shared: Arc<SharedWorld>, socket: Arc<UdpSocket>) {
    let mut query = [0; 1_500];
    loop {
        // An ICMP error of an earlier answer is reported here; the next query is unaffected.
        let Ok((length, client)) = socket.recv_from(&mut query).await else {
            continue;
        };
        let find = |name: &str, kind| shared.find(name, kind);
        let Some(answer) = respond(&query[..length], QueryTransport::Udp, find) else {
            continue;
        };
        if shared.world.dns_latency_ms == 0 {
            let _lost = socket.send_to(&answer, client).await;
            continue;
        }
        let (shared, socket) = (Arc::clone(&shared), Arc::clone(&socket));
        tokio::spawn(async move {
            shared.dns_latency().await;
            let _lost = socket.send_to(&answer, client).await;
        });
    }
}

async fn serve_tcp(shared: Arc<SharedWorld>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(Arc::clone(&shared).answer_stream(stream));
            }
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

impl SharedWorld {
    /// Answers queries of one TCP connection (RFC 7766), each preceded by its length.
    async fn answer_stream(self: Arc<Self>, mut stream: TcpStream) {
        while let Ok(Ok(length)) = timeout(DNS_IDLE, stream.read_u16()).await {
            let mut query = vec![0; usize::from(length)];
            if !matches!(timeout(DNS_IDLE, stream.read_exact(&mut query)).await, Ok(Ok(_))) {
                return;
            }
            self.dns_latency().await;
            let Some(answer) = respond(&query, QueryTransport::Tcp, |name, kind| self.find(name, kind)) else {
                continue;
            };
            let Ok(length) = u16::try_from(answer.len()) else {
                return;
            };
            let framed = [&length.to_be_bytes(), answer.as_slice()].concat();
            if stream.write_all(&framed).await.is_err() {
                return;
            }
        }
    }
}
