//! Stub resolver: queries to recursive name servers, over UDP and, for truncated answers, TCP.
//!
//! It uses hickory's name server pool, one per server, instead of its `Resolver`. That adds a cache which the engine already has,
//! answers some names itself (localhost), stops at the first server's SERVFAIL, and costs a sixth more CPU. Each datagram leaves
//! from a new random port with a random id and random letter case, a stub's defenses against forged answers; a validating resolver
//! on the loopback interface is still better.
//!
//! hickory rejects queries beyond its own queues: as "busy" above a number in flight on one connection, and as a plain error above
//! 32 queries waiting to be written to a TCP connection. So our own semaphores precede both, and a burst queues here. For the same
//! reason, UDP and TCP are separate pools, and we decide the turn to TCP. Any remaining "busy" or lack of file descriptors is our
//! overload, never an answer about a name.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hickory_proto::op::{DnsRequestOptions, DnsResponse, Query, ResponseCode};
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::xfer::{DnsHandle, FirstAnswer};
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::{NameServerPool, PoolContext, TlsConfig, system_conf};
use probity_mail::dns::{DnsFailure, DnsLookup, QueryKind};
use tokio::sync::Semaphore;

use super::answer::{AliasChain, ResponseStep, failed, record_type};
use super::real::{NAME_SERVERS_MAX, RealNetConfig};
use super::{dial, names};

type Pool = NameServerPool<TokioRuntimeProvider>;

/// Maximum queries on one TCP connection. hickory's queue for a connection holds 32 and fails beyond.
const TCP_IN_FLIGHT_MAX: usize = 32;

/// One name server.
struct Upstream {
    udp: Pool,
    tcp: Pool,
    tcp_turns: Semaphore,
}

impl Upstream {
    fn new(server: SocketAddr, context: &Arc<PoolContext>) -> Self {
        let pool = |mut connection: ConnectionConfig| {
            connection.port = server.port();
            let config = NameServerConfig::new(server.ip(), true, vec![connection]);
            Pool::from_config([config], context.clone(), TokioRuntimeProvider::default())
        };
        Self {
            udp: pool(ConnectionConfig::udp()),
            tcp: pool(ConnectionConfig::tcp()),
            tcp_turns: Semaphore::new(TCP_IN_FLIGHT_MAX),
        }
    }

    /// One exchange by UDP, then by TCP if the datagram was truncated (RFC 7766 section 5), or did not keep the query's letter case
    /// and may be forged. hickory reports the latter as "no connections", because it then expects TCP at once.
    async fn exchange(&self, query: Query) -> Result<DnsResponse, NetError> {
        let options = DnsRequestOptions::default();
        match self.udp.lookup(query.clone(), options).first_answer().await {
            Err(NetError::Truncated | NetError::NoConnections) => {
                let _turn = self.tcp_turns.acquire().await.expect(NEVER_CLOSED);
                self.tcp.lookup(query, options).first_answer().await
            }
            result => result,
        }
    }
}

const NEVER_CLOSED: &str = "the semaphore is never closed";

pub(super) struct DnsClient {
    upstreams: Vec<Upstream>,
    /// Index of the upstream queried first: the last one that answered where others failed.
    preferred: AtomicUsize,
    attempts: usize,
    queued: Semaphore,
    in_flight: Semaphore,
}

impl DnsClient {
    pub(crate) fn new(config: &RealNetConfig) -> io::Result<Self> {
        let in_flight_max = config.in_flight_max.max(1);
        let mut options = ResolverOpts::default();
        options.timeout = Duration::from_millis(config.timeout_ms.max(1));
        options.num_concurrent_reqs = 1;
        options.max_active_requests = in_flight_max.saturating_mul(2);
        options.case_randomization = true;
        let context = Arc::new(PoolContext::new(options, TlsConfig::new().map_err(io::Error::other)?));
        let servers = name_servers(config)?;
        Ok(Self {
            upstreams: servers.iter().take(NAME_SERVERS_MAX).map(|server| Upstream::new(*server, &context)).collect(),
            preferred: AtomicUsize::new(0),
            attempts: config.attempts.max(1),
            queued: Semaphore::new(config.queued_max.clamp(in_flight_max, Semaphore::MAX_PERMITS)),
            in_flight: Semaphore::new(in_flight_max.min(Semaphore::MAX_PERMITS)),
        })
    }

    pub(crate) async fn lookup(&self, name: &str, kind: QueryKind) -> DnsLookup {
        let Some(name) = names::wire(name) else {
            return failed(DnsFailure::Malformed);
        };
        let Ok(_place) = self.queued.try_acquire() else {
            return failed(DnsFailure::Overload);
        };
        let _turn = self.in_flight.acquire().await.expect(NEVER_CLOSED);
        let mut chain = AliasChain::new(name, kind);
        // Terminates because each further query extends the chain, whose length is limited.
        loop {
            let query = Query::query(chain.name().clone(), record_type(kind));
            let reading = match self.ask(query).await {
                Ok(response) => chain.read(&response, response.negative_ttl()),
                Err(NetError::Dns(DnsError::NoRecordsFound(negative))) => chain.read_negative(&negative),
                Err(error) => ResponseStep::Done(failed(failure(&error))),
            };
            if let ResponseStep::Done(lookup) = reading {
                return lookup;
            }
        }
    }

    /// Queries the upstreams in turn until one answers about the name. A server that answered with a failure is not queried again
    /// (RFC 9520 section 3.1: failures are not to be hammered at); after silence, another round is worthwhile.
    async fn ask(&self, query: Query) -> Result<DnsResponse, NetError> {
        let first = self.preferred.load(Ordering::Relaxed);
        let mut telling: Option<NetError> = None;
        for _round in 0..self.attempts {
            for step in 0..self.upstreams.len() {
                let index = (first + step) % self.upstreams.len();
                let result = self.upstreams[index].exchange(query.clone()).await;
                match result {
                    Err(error) if !error.is_no_records_found() => {
                        telling = Some(more_telling(telling, error));
                    }
                    answered => {
                        if step > 0 {
                            self.preferred.store(index, Ordering::Relaxed);
                        }
                        return answered;
                    }
                }
            }
            if telling.as_ref().is_some_and(|error| failure(error) != DnsFailure::TimedOut) {
                break;
            }
        }
        Err(telling.unwrap_or(NetError::Timeout))
    }
}

/// The more informative error: the first one, unless it was silence.
fn more_telling(before: Option<NetError>, now: NetError) -> NetError {
    match before {
        Some(error) if failure(&error) != DnsFailure::TimedOut => error,
        _ => now,
    }
}

fn failure(error: &NetError) -> DnsFailure {
    match error {
        NetError::Busy => DnsFailure::Overload,
        NetError::Io(error) if dial::is_local(error) => DnsFailure::Overload,
        NetError::Dns(DnsError::ResponseCode(ResponseCode::ServFail)) => DnsFailure::ServFail,
        NetError::Dns(_) => DnsFailure::Refused,
        NetError::Proto(_)
        | NetError::QueryCaseMismatch
        | NetError::ForeignClassRecord { .. }
        | NetError::Truncated => DnsFailure::Malformed,
        // Timeouts, and connections that failed to open or broke: there was no answer.
        _ => DnsFailure::TimedOut,
    }
}

/// The configured name servers, else the system's. Only the servers of resolv.conf count, not its search list or options.
fn name_servers(config: &RealNetConfig) -> io::Result<Vec<SocketAddr>> {
    if !config.name_servers.is_empty() {
        return Ok(config.name_servers.clone());
    }
    let (system, _options) = system_conf::read_system_conf().map_err(io::Error::other)?;
    let servers: Vec<_> = system.name_servers().iter().map(|server| SocketAddr::new(server.ip, 53)).collect();
    if servers.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no name server is configured"));
    }
    Ok(servers)
}
