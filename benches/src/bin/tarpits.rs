//! Cost of thousands of sessions in tarpits, over real sockets. Live calls to other hosts must not get slower, and a session must
//! stay small.
//!
//! A child process serves on loopback: MX hosts that are silent for an hour, and honest ones that answer each flight after some
//! milliseconds, as real servers do. This process holds only the engine. It times live calls alternately with the engine idle and
//! with all tarpits occupied by a job, so that other load on the machine affects both. Each side has its own engine with the same
//! configuration.
//!
//! `cargo run --release -p probity-benches --bin tarpits`. Fails if the 99th percentile with tarpits is 1.2 times the idle one or
//! more, or if a session takes over 64 KiB.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use probity_engine::net::ProbeSource;
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::verifier::Verifier as _;
use probity_engine::{Engine, EngineConfig, JobAddress, LiveCall, PriorAttempts};
use probity_mail::policy::PaceProfile;
use probity_mailworld::{Bind, HostPlan, LoopbackWorld, MailboxState, Mailboxes, Personality, World, Zone};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of honest MX hosts; live calls rotate among them.
const HONEST: usize = 20;
/// Time before a tarpit's banner, in milliseconds: longer than any job waits.
const SILENCE_MS: u64 = 3_600_000;
/// Maximum growth of the 99th percentile, as a factor.
const RATIO_MAX: f64 = 1.2;
/// Maximum memory per session, in KiB.
const SESSION_KIB_MAX: f64 = 64.0;

/// Measures live calls during sessions in tarpits.
#[derive(Parser)]
struct Arguments {
    /// Tarpits, each with one session.
    #[arg(long, default_value_t = 5_000)]
    tarpits: usize,
    /// Live calls on each side.
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
    /// Concurrent live calls.
    #[arg(long, default_value_t = 4)]
    at_once: usize,
    /// Delay of an honest MX host per flight, in milliseconds.
    #[arg(long, default_value_t = 20)]
    latency_ms: u32,
    /// Serve the world (used internally).
    #[arg(long, hide = true)]
    serve: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    probity_engine::net::descriptors::descriptor_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async { if arguments.serve { serve(&arguments).await } else { measure(&arguments).await } })
}

/// Serves in the child process until the parent closes its standard input.
async fn serve(arguments: &Arguments) -> anyhow::Result<()> {
    let mut slow = Personality::default();
    slow.pace.banner_ms = SILENCE_MS;
    let mut builder = World::builder();
    for n in 0..arguments.tarpits {
        builder = builder.site(&tarpit(n), Mailboxes::default(), slow.clone());
    }
    for n in 0..HONEST {
        let people = Mailboxes::only(&["ann"]).with("bob", MailboxState::Exists);
        let (domain, host) = (honest(n), format!("mx.{}", honest(n)));
        let plan = HostPlan { latency_ms: arguments.latency_ms, ..HostPlan::default() };
        builder = builder.zone(&domain, Zone::served_by(&[&host]).with_mailboxes(people)).host_with(
            &host,
            Personality::default(),
            plan,
        );
    }
    let world = LoopbackWorld::start(builder.build()?, Bind::default()).await?;
    println!("{} {}", world.dns(), world.smtp_port());
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
    Ok(())
}

fn tarpit(n: usize) -> String {
    format!("pit{n}.test")
}

fn honest(n: usize) -> String {
    format!("honest{n}.test")
}

/// The child process and its world.
struct Served {
    child: Child,
    dns: std::net::SocketAddr,
    smtp_port: u16,
}

impl Served {
    fn start(arguments: &Arguments) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--serve", "--tarpits", &arguments.tarpits.to_string()])
            .args(["--latency-ms", &arguments.latency_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("the child's output is piped")?;
        let line = BufReader::new(stdout).lines().next().context("the world did not start")??;
        let (dns, port) = line.split_once(' ').context("an address and a port")?;
        Ok(Self { child, dns: dns.parse()?, smtp_port: port.parse()? })
    }

    fn stop(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        self.child.wait()?;
        Ok(())
    }

    fn engine(&self, arguments: &Arguments) -> anyhow::Result<Engine> {
        let config = EngineConfig {
            sources: vec![Arc::new(ProbeSource {
                bind: None,
                public: None,
                helo: "probe.example.org".into(),
                proxy: None,
            })],
            mail_from: "probe@example.org".into(),
            profile: PaceProfile::Open,
            port: self.smtp_port,
            networks_allowed: vec!["127.0.0.0/8".into()],
            special_use_allowed: vec!["test".into()],
            verdicts_max: 0,
            sessions_max: arguments.tarpits * 2,
            domains_max: arguments.tarpits + 1,
            ..EngineConfig::default()
        };
        let net = RealNetConfig { name_servers: vec![self.dns], ..RealNetConfig::new(Arc::new(config.guard()?)) };
        Ok(Engine::new(config, Arc::new(RealNet::new(net)?))?)
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let world = Served::start(arguments)?;
    let (idle, busy) = (world.engine(arguments)?, world.engine(arguments)?);
    // Warms up caches, allocator and sessions.
    for engine in [&idle, &busy] {
        calls(engine, arguments, arguments.calls / 4).await?;
    }
    let before_kib = resident_kib()?;
    let items = (0..arguments.tarpits).map(|n| JobAddress {
        key: n as u64,
        email: format!("ann@{}", tarpit(n)).into(),
        customer: 0,
        tries: PriorAttempts::default(),
    });
    let (engine, items) = (busy.clone(), items.collect());
    let started = Instant::now();
    let batch = tokio::spawn(async move { engine.verify_many(items, Arc::new(|_| {})).await });
    while sessions(&busy) < arguments.tarpits as u64 {
        ensure!(started.elapsed() < Duration::from_secs(25), "only {} sessions opened", sessions(&busy));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let opened = started.elapsed();
    let session_kib = (resident_kib()? - before_kib) / f64::from(u32::try_from(arguments.tarpits)?);
    let (mut beside_idle, mut beside_tarpits) = (Vec::new(), Vec::new());
    let turns = 10;
    for _ in 0..turns {
        beside_idle.extend(calls(&idle, arguments, arguments.calls / turns).await?);
        beside_tarpits.extend(calls(&busy, arguments, arguments.calls / turns).await?);
    }
    ensure!(sessions(&busy) >= arguments.tarpits as u64, "tarpits let go before the end of the measurement");
    batch.abort();
    world.stop()?;
    report(arguments, opened, session_kib, [&mut beside_idle, &mut beside_tarpits])
}

fn report(arguments: &Arguments, opened: Duration, session_kib: f64, took: [&mut Vec<f64>; 2]) -> anyhow::Result<()> {
    let [idle, busy] = took.map(|took| {
        took.sort_by(f64::total_cmp);
        (took[took.len() / 2], took[took.len() * 99 / 100])
    });
    let ratio = busy.1 / idle.1;
    println!("sessions in tarpits   {} (opened in {:.1} s)", arguments.tarpits, opened.as_secs_f64());
    println!("live calls, idle      p50 {:.2} ms, p99 {:.2} ms", idle.0, idle.1);
    println!("live calls, tarpits   p50 {:.2} ms, p99 {:.2} ms", busy.0, busy.1);
    println!("p99 ratio             {ratio:.3} (must be below {RATIO_MAX})");
    println!("memory per session    {session_kib:.1} KiB (must be at most {SESSION_KIB_MAX})");
    println!("peak memory           {:.0} MiB", status_kib("VmHWM:")? / 1_024.0);
    if ratio >= RATIO_MAX || session_kib > SESSION_KIB_MAX {
        bail!("a limit is not kept");
    }
    Ok(())
}

fn sessions(engine: &Engine) -> u64 {
    engine.counters().sessions_open
}

/// Makes concurrent live calls to the honest MX hosts. Returns the time of each in milliseconds.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn calls(engine: &Engine, arguments: &Arguments, count: usize) -> anyhow::Result<Vec<f64>> {
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..arguments.at_once {
        let engine = engine.clone();
        let count = count / arguments.at_once;
        tasks.spawn(async move {
            let mut took = Vec::with_capacity(count);
            for n in 0..count {
                // No two callers use the same MX host at once.
                let at = (n * 4 + caller) % HONEST;
                let started = Instant::now();
                let said =
                    engine.verify(&format!("ann@{}", honest(at)), LiveCall { timeout_ms: 20_000, scope: 0 }).await;
                took.push(started.elapsed().as_secs_f64() * 1_000.0);
                ensure!(said.verdict.reason.as_str() == "valid", "{:?}", said.verdict);
            }
            Ok(took)
        });
    }
    let mut all = Vec::new();
    while let Some(took) = tasks.join_next().await {
        all.extend(took??);
    }
    Ok(all)
}

fn resident_kib() -> anyhow::Result<f64> {
    status_kib("VmRSS:")
}

/// Returns a line of `/proc/self/status` (proc(5)), in KiB.
fn status_kib(name: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context("a line of memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
