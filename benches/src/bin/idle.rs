//! Cost of an idle engine: memory and time, component by component.
//!
//! Each line is one component: its setup time, the growth in private memory, and the process's total memory, including mapped files
//! such as the program itself. The last component is one verification without a name server. For one with real sessions, run `load
//! -- --addresses 1 --domains 1`.
//!
//! `cargo run --release -p probity-benches --bin idle`; fails if an idle engine holds more than [`IDLE_MAX_KIB`].

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::verifier::Verifier as _;
use probity_engine::{Engine, EngineConfig, LiveCall};
use probity_mail::classify::Rules;
use probity_mail::facts::lists::Lists;
use probity_mail::policy::Policies;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Maximum memory of an idle engine, which must fit on the smallest machine for rent.
const IDLE_MAX_KIB: u64 = 30 * 1_024;

fn main() -> anyhow::Result<()> {
    let mut parts = Parts::new()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    parts.done("threads")?;
    let _running = runtime.enter();
    Rules::embedded();
    parts.done("rules about replies")?;
    Policies::embedded();
    parts.done("policies")?;
    let _ = Lists::embedded();
    parts.done("lists")?;
    let config = EngineConfig::default();
    let name_server = SocketAddr::from(([127, 0, 0, 1], 9));
    let net = RealNetConfig { name_servers: vec![name_server], ..RealNetConfig::new(Arc::new(config.guard()?)) };
    let net = RealNet::new(net)?;
    parts.done("network")?;
    let engine = Engine::new(config, Arc::new(net))?;
    parts.done("engine")?;
    runtime.block_on(engine.verify("somebody@example.org", LiveCall { timeout_ms: 100, scope: 0 }));
    parts.done("one verification")?;
    if parts.resident_kib > IDLE_MAX_KIB {
        bail!("an idle engine holds {} KiB; {IDLE_MAX_KIB} are allowed", parts.resident_kib);
    }
    Ok(())
}

/// Prints the cost of each component.
struct Parts {
    since: Instant,
    private_kib: u64,
    resident_kib: u64,
}

impl Parts {
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    fn new() -> anyhow::Result<Self> {
        println!("{:20} {:>8} {:>14} {:>14}", "", "ms", "private, KiB", "resident, KiB");
        let mut parts = Self { since: Instant::now(), private_kib: 0, resident_kib: 0 };
        parts.done("program")?;
        Ok(parts)
    }

    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    fn done(&mut self, part: &str) -> anyhow::Result<()> {
        let took_ms = self.since.elapsed().as_secs_f64() * 1_000.0;
        let status = std::fs::read_to_string("/proc/self/status")?;
        let (private, resident) = (kib(&status, "RssAnon:")?, kib(&status, "VmRSS:")?);
        let grown = private.cast_signed() - self.private_kib.cast_signed();
        println!("{part:20} {took_ms:8.1} {grown:+14} {resident:14}");
        (self.private_kib, self.resident_kib, self.since) = (private, resident, Instant::now());
        Ok(())
    }
}

/// Returns a number from `/proc/PID/status` (proc(5)).
fn kib(status: &str, name: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context("a line of the status")?;
    line.trim().trim_end_matches(" kB").parse().context("a number")
}
