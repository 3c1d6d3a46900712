//! How near to its bound a realistic list ends: in a simulated internet under a paused clock, from one, four and twenty sources.
//!
//! The bound is the least time that the limits of the sites allow. The figures depend on the seed alone, not on the machine.
//!
//! `cargo run --release -p probity-benches --bin schedule`. Fails if a list takes longer than 1.1 times its bound, or a site is asked
//! more in a minute than its rate and burst.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::Parser;
use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_engine::{Engine, EngineConfig};
use probity_mailworld::{RealisticList, verify_list};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Maximum time, in bounds.
const RATIO_MAX: f64 = 1.1;

/// Measures lists against their bounds.
#[derive(Parser)]
struct Arguments {
    /// Addresses of the list.
    #[arg(long, default_value_t = 20_000)]
    rows: usize,
    /// Seed of list, servers and engine.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    println!("SOURCES  BOUND, MIN  TIME, MIN  RATIO  BUSIEST SITE");
    let mut ratio_max = 0.0_f64;
    for sources in [1, 4, 20] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
        ratio_max = ratio_max.max(runtime.block_on(measure(&arguments, sources))?);
    }
    ensure!(ratio_max <= RATIO_MAX, "a list took {ratio_max:.2} times its bound");
    Ok(())
}

/// Runs the list from so many sources; returns its time, in bounds.
async fn measure(arguments: &Arguments, sources: u8) -> anyhow::Result<f64> {
    let list = RealisticList::new(arguments.rows, arguments.seed);
    let net = list.world.net(arguments.seed);
    let config = EngineConfig {
        sources: (1..=sources).map(source).collect::<anyhow::Result<_>>()?,
        mail_from: "probe@example.org".into(),
        networks_allowed: vec!["0.0.0.0/0".into(), "::/0".into()],
        seed: Some(arguments.seed),
        verdicts_max: 0,
        sessions_max: 10_000,
        ..EngineConfig::default()
    };
    let engine = Engine::new(config, net.clone())?;
    let (slowest, bound) = list.bound(&engine);
    let started = engine.now();
    verify_list(&engine, &list.emails).await;
    let (least, took) = (minutes(bound.ms)?, minutes(engine.now().since(started))?);
    let (busiest, most, allowed) = busiest(&list, &engine, |host| net.host(host).most_in_a_minute)?;
    println!(
        "{sources:<7}  {least:<10.1}  {took:<9.1}  {:<5.3}  {busiest}: {most} in a minute, {allowed} allowed",
        took / least
    );
    println!("         {slowest} takes longest");
    ensure!(most <= allowed, "{busiest} was asked more than its rate");
    Ok(took / least)
}

fn minutes(ms: i64) -> anyhow::Result<f64> {
    Ok(f64::from(u32::try_from(ms)?) / 60_000.0)
}

fn source(n: u8) -> anyhow::Result<Arc<ProbeSource>> {
    let public = Some(format!("198.51.100.{n}").parse()?);
    Ok(Arc::new(ProbeSource { bind: None, public, helo: "probe.example.org".into(), proxy: None }))
}

/// The host that comes nearest to its rate: its name, the most recipients of one source within a minute, and those that are allowed.
fn busiest<'a>(
    list: &'a RealisticList,
    engine: &Engine,
    most: impl Fn(&str) -> u64,
) -> anyhow::Result<(&'a str, u64, u64)> {
    let hosts = list.loads.keys().filter_map(|host| {
        let policy = engine.manners(host)?.policy;
        Some((host.as_str(), most(host), u64::from(policy.rcpt_per_minute + policy.burst)))
    });
    hosts.max_by_key(|(_, most, allowed)| most * 1_000 / allowed.max(&1)).context("a list has hosts")
}
