//! How fast the whole engine verifies, over real sockets, and what it costs.
//!
//! A child process serves a simulated mail internet on loopback; this process holds the engine alone, so that its CPU time
//! and memory are the engine's. Both share the machine's cores. Caches are cold, limits are open, the exchangers are honest
//! and pipelining, 70 % of the addresses exist.
//!
//! `cargo run --release -p probity-benches --bin load` (a million addresses over 10,000 domains), `-- --quick` for a short
//! one that fails when a verdict is wrong.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Parser;
use probity_core::policy::Profile;
use probity_core::verdict::Reason;
use probity_engine::net::Source;
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::{Engine, EngineConfig, Item, Outcome, Sink, Tries};
use probity_mailworld::{Bind, LoopbackWorld, load};
use tokio::sync::Semaphore;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Addresses handed over in one call.
const PIECE: u64 = 2_000;
/// Calls under way at a time.
const CALLS: usize = 32;
/// How many of a hundred addresses exist.
const EXISTS_PERCENT: u8 = 70;
/// Clock ticks a second in `/proc/self/stat` on Linux.
const TICKS: f64 = 100.0;

/// Verifies generated addresses over loopback and prints what it took.
#[derive(Parser)]
struct Arguments {
    /// Addresses.
    #[arg(long, default_value_t = 1_000_000)]
    addresses: u64,
    /// Domains that they are spread over.
    #[arg(long, default_value_t = 10_000)]
    domains: u32,
    /// How long an exchanger waits before it answers what it has received, in milliseconds.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// 20,000 addresses over 200 domains.
    #[arg(long)]
    quick: bool,
    /// Use STARTTLS where it is offered.
    #[arg(long)]
    tls: bool,
    /// Serve the world instead (this program starts itself so).
    #[arg(long, hide = true)]
    serve: bool,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        (arguments.addresses, arguments.domains) = (20_000, 200);
    }
    probity_engine::descriptors::descriptor_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async { if arguments.serve { serve(&arguments).await } else { measure(&arguments).await } })
}

/// The child: serves until its parent closes its standard input.
async fn serve(arguments: &Arguments) -> anyhow::Result<()> {
    let bind = Bind { command_latency_ms: arguments.latency_ms, ..Bind::default() };
    let world = LoopbackWorld::start(load::world(arguments.domains, EXISTS_PERCENT), bind).await?;
    println!("{} {}", world.dns(), world.smtp_port());
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
    let hosts = world.hosts();
    println!("{} {} {}", world.query_total(), hosts.connections, hosts.rcpt);
    Ok(())
}

struct World {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    dns: std::net::SocketAddr,
    smtp_port: u16,
}

impl World {
    fn start(arguments: &Arguments) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--serve", "--domains", &arguments.domains.to_string()])
            .args(["--latency-ms", &arguments.latency_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("the child's output is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = lines.next().context("the world did not start")??;
        let (dns, port) = line.split_once(' ').context("an address and a port")?;
        Ok(Self { child, lines, dns: dns.parse()?, smtp_port: port.parse()? })
    }

    /// Ends the child: questions, connections and recipients that it has seen, and the CPU seconds that it took.
    fn stop(mut self) -> anyhow::Result<(Vec<u64>, f64)> {
        let cpu = cpu_seconds(self.child.id())?;
        drop(self.child.stdin.take());
        let line = self.lines.next().context("the world said nothing at its end")??;
        self.child.wait()?;
        Ok((line.split(' ').map(str::parse).collect::<Result<_, _>>()?, cpu))
    }
}

fn engine(world: &World, arguments: &Arguments) -> anyhow::Result<Engine> {
    let config = EngineConfig {
        sources: vec![Arc::new(Source { bind: None, public: None, helo: "probe.example.org".into(), proxy: None })],
        mail_from: "probe@example.org".into(),
        profile: Profile::Open,
        port: world.smtp_port,
        starttls: arguments.tls,
        networks_allowed: vec!["127.0.0.0/8".into()],
        special_use_allowed: vec!["test".into()],
        verdicts_max: 0,
        ..EngineConfig::default()
    };
    let net = RealNetConfig { name_servers: vec![world.dns], ..RealNetConfig::new(Arc::new(config.guard()?)) };
    Ok(Engine::new(config, Arc::new(RealNet::new(net)?))?)
}

#[derive(Default)]
struct Verdicts {
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
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let world = World::start(arguments)?;
    let engine = engine(&world, arguments)?;
    let verdicts = Arc::new(Verdicts::default());
    let (cpu, started) = (cpu_seconds(std::process::id())?, Instant::now());
    verify_all(&engine, arguments, &verdicts).await?;
    let (wall, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds(std::process::id())? - cpu);
    let counters = engine.counters();
    engine.close(2_000).await;
    let (seen, world_cpu) = world.stop()?;
    let count = float(arguments.addresses);
    let each = |n: u64| float(n) / count;
    println!("addresses            {}", arguments.addresses);
    println!("addresses/s          {:.0}", count / wall);
    println!("CPU ms per address   {:.4} (the world's {:.4})", cpu * 1_000.0 / count, world_cpu * 1_000.0 / count);
    println!("peak memory, MiB     {:.0}", peak_mib()?);
    println!("connections/address  {:.4}", each(counters.connections));
    println!("RCPT/address         {:.4}", each(counters.rcpts));
    println!("queries/address      {:.4} (the world counted {})", each(counters.queries), seen[0]);
    println!("waits/address        {:.4}", each(counters.waits));
    let [right, wrong, undecided] =
        [&verdicts.right, &verdicts.wrong, &verdicts.undecided].map(|counter| counter.load(Ordering::Relaxed));
    println!("verdicts             {right} right, {wrong} wrong, {undecided} undecided");
    if wrong > 0 || right + undecided != arguments.addresses || undecided * 1_000 > arguments.addresses {
        bail!("verdicts are wrong or missing");
    }
    Ok(())
}

async fn verify_all(engine: &Engine, arguments: &Arguments, verdicts: &Arc<Verdicts>) -> anyhow::Result<()> {
    let calls = Arc::new(Semaphore::new(CALLS));
    let per_domain = arguments.addresses.div_ceil(u64::from(arguments.domains));
    // Sorted by domain, as a batch is: address i of `load` lies at domain i modulo the number of domains.
    let numbers = (0..u64::from(arguments.domains))
        .flat_map(|domain| (0..per_domain).map(move |nth| (domain, nth)))
        .map(|(domain, nth)| nth * u64::from(arguments.domains) + domain)
        .filter(|i| *i < arguments.addresses);
    let mut piece = Vec::new();
    let mut tasks = tokio::task::JoinSet::new();
    let mut numbers = numbers.peekable();
    while let Some(i) = numbers.next() {
        piece.push(Item { key: i, email: load::address(i, arguments.domains).into(), tries: Tries::default() });
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

/// User and system time of a process (proc(5)).
fn cpu_seconds(process: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The command's name may hold blanks; it ends with the last parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(") ").context("a command's name")?.1.split(' ').collect();
    let ticks = |n: usize| fields.get(n).context("a field")?.parse::<f64>().context("a number");
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}

/// A count as a number to divide: none here reaches the 52 bits of a mantissa.
#[expect(clippy::cast_precision_loss, reason = "counts of addresses are far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

fn peak_mib() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("a peak")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1_024.0)
}
