//! Speed of live calls to the service, including key, limits, credit, verdict and usage.
//!
//! Starts the real program (`probity serve --sandbox`, metered, rate limits raised) over a new database, and stops it. A second
//! start gives the time until it is ready and its idle memory. Then sends `GET /v1/verify` with the live key over persistent
//! connections, each with one request at a time. Client and service share the machine. The program fails if a response was not 200
//! or the account did not pay for every verdict exactly once.
//!
//! `cargo build --release -p probity-cli && cargo run --release -p probity-benches --bin service` uses SQLite in a temporary
//! directory. `-- --postgres` uses a private PostgreSQL that syncs its log; `-- --seconds 600 --every 60` shows whether time,
//! memory or the database grow.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use probity_benches::client;
use probity_benches::load::{Callers, Load};
use probity_benches::place::{Place, PlaceArguments};
use probity_benches::process::float;
use probity_benches::program::Program;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Idle time of the service before its memory is read.
const REST: Duration = Duration::from_secs(2);
/// Warm-up time of the load before measurement.
const WARMING: Duration = Duration::from_secs(2);

/// Sends live calls to a service and prints their times.
#[derive(Parser)]
struct Arguments {
    /// Duration in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Interval of the printed lines, in seconds.
    #[arg(long, default_value_t = 5)]
    every: u64,
    /// Connections, each with one request at a time.
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Address to verify.
    #[arg(long, default_value = "valid@sandbox.test")]
    email: String,
    #[command(flatten)]
    place: PlaceArguments,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // One thread is enough to load two cores, and leaves the service most of them.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(&arguments))
}

async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let place = Place::new(&arguments.place)?;
    let program = Program::start(&mut place.sandbox()?).await?;
    let key = program.live_key().context("a new installation prints its live key")?.to_owned();
    program.stop().await?;
    let program = Program::start(&mut place.sandbox()?).await?;
    println!(
        "ready after             {:.0} ms, with an existing database",
        program.ready_after.as_secs_f64() * 1_000.0
    );
    tokio::time::sleep(REST).await;
    println!("memory at rest          {:.1} MiB", program.resident_mib()?);

    let before = client::credits(program.address, &key).await?;
    let load = Load::start(program.address, &key, &arguments.email, Callers::busy(arguments.connections)).await?;
    tokio::time::sleep(WARMING).await;
    load.taken();
    println!(
        "   second  calls/s  p50 ms  p99 ms  max ms  CPU us/call  memory MiB  database MiB  log MiB  machine's load"
    );
    for nth in 1..=arguments.seconds.div_ceil(arguments.every) {
        let cpu = program.cpu()?;
        tokio::time::sleep(Duration::from_secs(arguments.every)).await;
        row(nth * arguments.every, arguments.every, &load, program.cpu()?.saturating_sub(cpu), &program, &place)?;
    }
    let answers = load.stop().await?;
    let paid = before - client::credits(program.address, &key).await?;
    println!("answers                 {answers}, credits paid {paid}");
    program.stop().await?;
    let again = Program::start(&mut place.sandbox()?).await?;
    println!("ready after             {:.0} ms, after the load", again.ready_after.as_secs_f64() * 1_000.0);
    again.stop().await?;
    ensure!(u64::try_from(paid).ok() == Some(answers), "answers and credits differ");
    Ok(())
}

/// Prints the figures since the last line.
fn row(second: u64, every: u64, load: &Load, cpu: Duration, program: &Program, place: &Place) -> anyhow::Result<()> {
    let mut took = load.taken();
    took.sort_unstable();
    let Some(last) = took.last() else { bail!("no answer in {every} seconds") };
    let at = |percent: usize| millis(took[(took.len() * percent / 100).min(took.len() - 1)]);
    let calls = u32::try_from(took.len())?;
    println!(
        "{second:9} {:8.0} {:7.2} {:7.2} {:7.2} {:12.0} {:11.1} {:13.1} {:8.1}  {}",
        f64::from(calls) / Duration::from_secs(every).as_secs_f64(),
        at(50),
        at(99),
        millis(*last),
        cpu.as_secs_f64() * 1_000_000.0 / f64::from(calls),
        program.resident_mib()?,
        mib(place.size_bytes("probity.db")),
        mib(place.size_bytes("probity.db-wal")),
        std::fs::read_to_string("/proc/loadavg")?.split(' ').next().unwrap_or_default(),
    );
    Ok(())
}

fn mib(bytes: u64) -> f64 {
    float(bytes) / 1_048_576.0
}

fn millis(micros: u32) -> f64 {
    f64::from(micros) / 1_000.0
}
