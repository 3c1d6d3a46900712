//! The simulated mail internet as a child process, and the engine alone over it.
//!
//! A separate process keeps the world's CPU time and memory out of the figures. Caches are cold, limits are off, the MX hosts are
//! honest and support pipelining, and 70% of the addresses exist.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use probity_engine::net::ProbeSource;
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, Engine, EngineConfig, JobAddress, OutcomeSink, PriorAttempts};
use probity_mail::policy::PaceProfile;
use probity_mail::verdict::Reason;
use probity_mailworld::{Bind, LoopbackWorld, load};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::process;

/// Addresses per call.
const PIECE: u64 = 2_000;
/// Concurrent calls.
const CALLS: usize = 32;
/// Percentage of addresses that exist.
const EXISTS_PERCENT: u8 = 70;

/// Parameters of a world.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of domains over which addresses are spread.
    pub domains: u32,
    /// Delay before an MX host answers what it has received, in milliseconds.
    pub latency_ms: u64,
}

/// Serves in the child process until the parent closes its standard input.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub async fn serve(shape: Shape) -> anyhow::Result<()> {
    let bind = Bind { command_latency_ms: shape.latency_ms, ..Bind::default() };
    let world = LoopbackWorld::start(load::world(shape.domains, EXISTS_PERCENT), bind).await?;
    println!("{} {}", world.dns(), world.smtp_port());
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
    let hosts = world.hosts();
    println!("{} {} {}", world.query_total(), hosts.connections, hosts.rcpt);
    Ok(())
}

/// A world served by a child process.
pub struct World {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    /// Address of the world's name server.
    pub dns: SocketAddr,
    /// Port of the world's MX hosts.
    pub smtp_port: u16,
}

/// Totals of a world.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// DNS queries.
    pub queries: u64,
    /// CPU time in seconds.
    pub cpu_seconds: f64,
}

impl World {
    /// Starts this program with `--serve --domains N --latency-ms N`, for which it must call [`serve`].
    pub fn start(shape: Shape) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--serve", "--domains", &shape.domains.to_string()])
            .args(["--latency-ms", &shape.latency_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("the child's output is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = lines.next().context("the world did not start")??;
        let (dns, port) = line.split_once(' ').context("an address and a port")?;
        Ok(Self { child, lines, dns: dns.parse()?, smtp_port: port.parse()? })
    }

    /// Stops the child process.
    ///
    /// # Errors
    /// If the child process exits with a failure.
    pub fn stop(mut self) -> anyhow::Result<Seen> {
        let cpu_seconds = process::cpu(self.child.id())?.as_secs_f64();
        drop(self.child.stdin.take());
        let line = self.lines.next().context("the world said nothing at its end")??;
        self.child.wait()?;
        let queries = line.split(' ').next().unwrap_or_default().parse()?;
        Ok(Seen { queries, cpu_seconds })
    }
}

/// Returns an engine over a world, with empty caches.
pub fn engine(dns: SocketAddr, smtp_port: u16, starttls: bool) -> anyhow::Result<Engine> {
    let config = EngineConfig {
        sources: vec![Arc::new(ProbeSource {
            bind: None,
            public: None,
            helo: "probe.example.org".into(),
            proxy: None,
        })],
        mail_from: "probe@example.org".into(),
        profile: PaceProfile::Open,
        port: smtp_port,
        starttls,
        networks_allowed: vec!["127.0.0.0/8".into()],
        special_use_allowed: vec!["test".into()],
        verdicts_max: 0,
        ..EngineConfig::default()
    };
    let net = RealNetConfig { name_servers: vec![dns], ..RealNetConfig::new(Arc::new(config.guard()?)) };
    Ok(Engine::new(config, Arc::new(RealNet::new(net)?))?)
}

/// Counts of right, wrong and undecided verdicts.
#[derive(Default)]
pub struct Verdicts {
    right: AtomicU64,
    wrong: AtomicU64,
    undecided: AtomicU64,
}

impl Verdicts {
    fn count(&self, outcome: &AddressOutcome) {
        let counter = match outcome {
            AddressOutcome::PutOff { .. } => &self.undecided,
            AddressOutcome::Settled(said) => {
                let exists = load::exists(&said.email, EXISTS_PERCENT);
                match said.verdict.reason {
                    Reason::Nonexistent if !exists => &self.right,
                    Reason::Valid | Reason::RoleBased if exists => &self.right,
                    Reason::Nonexistent | Reason::Valid | Reason::RoleBased => &self.wrong,
                    _ => &self.undecided,
                }
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many verdicts were right, wrong and undecided.
    ///
    /// # Errors
    /// If a verdict is wrong or missing, or more than 1 in 1,000 are undecided.
    pub fn check(&self, addresses: u64) -> anyhow::Result<[u64; 3]> {
        let counted = [&self.right, &self.wrong, &self.undecided].map(|counter| counter.load(Ordering::Relaxed));
        let [right, wrong, undecided] = counted;
        if wrong > 0 || right + undecided != addresses || undecided * 1_000 > addresses {
            bail!("verdicts are wrong or missing: {right} right, {wrong} wrong, {undecided} undecided");
        }
        Ok(counted)
    }
}

/// Returns address `nth` of a list; neighbors are at different domains.
pub fn address(nth: u64, domains: u32) -> String {
    load::address(nth, domains)
}

/// Verifies `addresses` addresses, sorted by domain as in a job.
pub async fn verify_all(engine: &Engine, addresses: u64, domains: u32, verdicts: &Arc<Verdicts>) -> anyhow::Result<()> {
    let calls = Arc::new(Semaphore::new(CALLS));
    let per_domain = addresses.div_ceil(u64::from(domains));
    // Address `i` of `load` is at domain `i` modulo the number of domains.
    let numbers = (0..u64::from(domains))
        .flat_map(|domain| (0..per_domain).map(move |nth| (domain, nth)))
        .map(|(domain, nth)| nth * u64::from(domains) + domain)
        .filter(|i| *i < addresses);
    let mut piece = Vec::new();
    let mut tasks = JoinSet::new();
    let mut numbers = numbers.peekable();
    while let Some(i) = numbers.next() {
        piece.push(JobAddress {
            key: i,
            email: load::address(i, domains).into(),
            customer: 0,
            tries: PriorAttempts::default(),
        });
        if piece.len() as u64 == PIECE || numbers.peek().is_none() {
            let items = std::mem::take(&mut piece);
            let permit = calls.clone().acquire_owned().await?;
            let (engine, verdicts) = (engine.clone(), verdicts.clone());
            tasks.spawn(async move {
                let _permit = permit;
                let sink: OutcomeSink =
                    Arc::new(move |group| group.iter().for_each(|(_, outcome)| verdicts.count(outcome)));
                engine.verify_many(items, sink).await;
            });
        }
    }
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(())
}
