//! The simulated mail internet as a child process, and the engine alone over it.
//!
//! The world is a process of its own, so that CPU time and memory of the process that measures are those of what it
//! measures. Caches are cold, limits are open, the exchangers are honest and pipelining, 70 % of the addresses exist.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use probity_engine::net::Source;
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::{Engine, EngineConfig, Item, Outcome, Sink, Tries};
use probity_mail::policy::Profile;
use probity_mail::verdict::Reason;
use probity_mailworld::{Bind, LoopbackWorld, load};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::process;

/// Addresses handed over in one call.
const PIECE: u64 = 2_000;
/// Calls under way at a time.
const CALLS: usize = 32;
/// How many of a hundred addresses exist.
const EXISTS_PERCENT: u8 = 70;

/// Which world.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Domains that addresses are spread over.
    pub domains: u32,
    /// How long an exchanger waits before it answers what it has received, in milliseconds.
    pub latency_ms: u64,
}

/// What the child does: serves until its parent closes its standard input.
///
/// # Errors
/// Where loopback gives no sockets.
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

/// A world that is served by a child.
pub struct World {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    /// Where its name server listens.
    pub dns: SocketAddr,
    /// At which port its exchangers do.
    pub smtp_port: u16,
}

/// What a world has seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Questions for names.
    pub queries: u64,
    /// Seconds on processors.
    pub cpu_seconds: f64,
}

impl World {
    /// Starts this same program with `--serve --domains N --latency-ms N`, which is to call [`serve`].
    ///
    /// # Errors
    /// Where it does not start.
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

    /// Ends the child.
    ///
    /// # Errors
    /// Where it does not end well.
    pub fn stop(mut self) -> anyhow::Result<Seen> {
        let cpu_seconds = process::cpu(self.child.id())?.as_secs_f64();
        drop(self.child.stdin.take());
        let line = self.lines.next().context("the world said nothing at its end")??;
        self.child.wait()?;
        let queries = line.split(' ').next().unwrap_or_default().parse()?;
        Ok(Seen { queries, cpu_seconds })
    }
}

/// An engine over a world, with nothing in its caches.
///
/// # Errors
/// Where the system gives no sockets.
pub fn engine(dns: SocketAddr, smtp_port: u16, starttls: bool) -> anyhow::Result<Engine> {
    let config = EngineConfig {
        sources: vec![Arc::new(Source { bind: None, public: None, helo: "probe.example.org".into(), proxy: None })],
        mail_from: "probe@example.org".into(),
        profile: Profile::Open,
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

/// How verdicts compare with the truth.
#[derive(Default)]
pub struct Verdicts {
    right: AtomicU64,
    wrong: AtomicU64,
    undecided: AtomicU64,
}

impl Verdicts {
    fn count(&self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::PutOff { .. } => &self.undecided,
            Outcome::Settled(said) => {
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

    /// Says how many were right, wrong and undecided.
    ///
    /// # Errors
    /// Where one is wrong or missing, or more than one in a thousand undecided.
    pub fn check(&self, addresses: u64) -> anyhow::Result<[u64; 3]> {
        let counted = [&self.right, &self.wrong, &self.undecided].map(|counter| counter.load(Ordering::Relaxed));
        let [right, wrong, undecided] = counted;
        if wrong > 0 || right + undecided != addresses || undecided * 1_000 > addresses {
            bail!("verdicts are wrong or missing: {right} right, {wrong} wrong, {undecided} undecided");
        }
        Ok(counted)
    }
}

/// Address number `nth` of a list over so many domains: neighbours are at different domains.
pub fn address(nth: u64, domains: u32) -> String {
    load::address(nth, domains)
}

/// Verifies so many addresses, sorted by domain, as a batch is.
///
/// # Errors
/// Where the engine panics.
pub async fn verify_all(engine: &Engine, addresses: u64, domains: u32, verdicts: &Arc<Verdicts>) -> anyhow::Result<()> {
    let calls = Arc::new(Semaphore::new(CALLS));
    let per_domain = addresses.div_ceil(u64::from(domains));
    // Address i of `load` lies at domain i modulo the number of domains.
    let numbers = (0..u64::from(domains))
        .flat_map(|domain| (0..per_domain).map(move |nth| (domain, nth)))
        .map(|(domain, nth)| nth * u64::from(domains) + domain)
        .filter(|i| *i < addresses);
    let mut piece = Vec::new();
    let mut tasks = JoinSet::new();
    let mut numbers = numbers.peekable();
    while let Some(i) = numbers.next() {
        piece.push(Item { key: i, email: load::address(i, domains).into(), customer: 0, tries: Tries::default() });
        if piece.len() as u64 == PIECE || numbers.peek().is_none() {
            let items = std::mem::take(&mut piece);
            let permit = calls.clone().acquire_owned().await?;
            let (engine, verdicts) = (engine.clone(), verdicts.clone());
            tasks.spawn(async move {
                let _permit = permit;
                let sink: Sink = Arc::new(move |group| group.iter().for_each(|(_, outcome)| verdicts.count(outcome)));
                engine.verify_many(items, sink).await;
            });
        }
    }
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(())
}
