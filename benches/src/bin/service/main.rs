//! How fast the service answers live calls with everything that belongs to one: key, limits, credit, verdict, usage.
//!
//! It starts the real program (`probity serve --sandbox`, metered, rate limits raised) over a new database, stops it, starts
//! it again (time until it is ready, memory at rest), and then sends `GET /v1/verify` with the live key over connections
//! that stay open, each with one request at a time. Client and service share the machine. At the end the account must have
//! paid for every answer exactly once; the program fails where it has not, or where an answer was not 200.
//!
//! `cargo build --release -p probity-cli && cargo run --release -p probity-benches --bin service` takes SQLite in a
//! temporary directory; `-- --postgres` a private PostgreSQL that syncs its log; `-- --seconds 600 --every 60` shows
//! whether time, memory or the database grow.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

mod load;
mod program;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use load::Load;
use probity_trialdb::{Cluster, Database};
use program::Program;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long the service is left alone before its memory is read.
const REST: Duration = Duration::from_secs(2);
/// How long the load runs before it is measured.
const WARMING: Duration = Duration::from_secs(2);

/// Sends live calls to a service and prints what they took.
#[derive(Parser)]
struct Arguments {
    /// How long to measure.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How often to print a line.
    #[arg(long, default_value_t = 5)]
    every: u64,
    /// Connections, each with one request at a time.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// The address that is verified.
    #[arg(long, default_value = "valid@sandbox.test")]
    email: String,
    /// Where the database goes; a temporary directory where nobody says.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// A private PostgreSQL instead of SQLite.
    #[arg(long)]
    postgres: bool,
    /// The program; the one beside this where nobody says.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Settings of the program besides, as `--set` takes them.
    #[arg(long)]
    set: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // One thread is enough to load two cores, and leaves the service the more of them.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(&arguments))
}

async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let place = Place::new(arguments)?;
    let program = Program::start(&mut place.command()?).await?;
    let key = program.live_key().context("a new installation prints its live key")?.to_owned();
    program.stop().await?;
    let program = Program::start(&mut place.command()?).await?;
    println!(
        "ready after             {:.0} ms, with an existing database",
        program.ready_after.as_secs_f64() * 1_000.0
    );
    tokio::time::sleep(REST).await;
    println!("memory at rest          {:.1} MiB", program.resident_mib()?);

    let before = load::credits(program.address, &key).await?;
    let load = Load::start(program.address, &key, &arguments.email, arguments.connections).await?;
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
    let paid = before - load::credits(program.address, &key).await?;
    println!("answers                 {answers}, credits paid {paid}");
    program.stop().await?;
    let again = Program::start(&mut place.command()?).await?;
    println!("ready after             {:.0} ms, after the load", again.ready_after.as_secs_f64() * 1_000.0);
    again.stop().await?;
    ensure!(u64::try_from(paid).ok() == Some(answers), "answers and credits differ");
    Ok(())
}

/// What happened since the last line.
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
        place.size_mib("probity.db"),
        place.size_mib("probity.db-wal"),
        std::fs::read_to_string("/proc/loadavg")?.split(' ').next().unwrap_or_default(),
    );
    Ok(())
}

fn millis(micros: u32) -> f64 {
    f64::from(micros) / 1_000.0
}

/// Where the service under test keeps its data. Dropped, it is gone.
struct Place {
    program: PathBuf,
    directory: tempfile::TempDir,
    set: Vec<String>,
    postgres: Option<(Database, Cluster)>,
}

impl Place {
    fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        let beside = || Ok::<_, anyhow::Error>(std::env::current_exe()?.with_file_name("probity"));
        let program = arguments.program.clone().map_or_else(beside, Ok)?;
        ensure!(program.exists(), "{} is missing: `cargo build --release -p probity-cli` makes it", program.display());
        let directory = match &arguments.directory {
            Some(directory) => tempfile::tempdir_in(directory)?,
            None => tempfile::tempdir()?,
        };
        let postgres = if arguments.postgres {
            let cluster = Cluster::private().context("PostgreSQL is not installed")?;
            Some((cluster.create_database(), cluster))
        } else {
            None
        };
        Ok(Self { program, directory, set: arguments.set.clone(), postgres })
    }

    fn command(&self) -> anyhow::Result<std::process::Command> {
        let mut command = std::process::Command::new(&self.program);
        let data = self.directory.path().to_str().context("a path in UTF-8")?;
        // Limits that are never reached, and more credits than can be spent.
        command.args(["serve", "--sandbox", "--data", data]);
        let mut set = |pair: &str| {
            command.args(["--set", pair]);
        };
        set("server.listen=127.0.0.1:0");
        set("rate.key_per_minute=60000000");
        set("rate.organization_per_minute=60000000");
        set("credits.plan=metered");
        set("credits.initial=1000000000");
        if let Some((database, _)) = &self.postgres {
            set(&format!("database.url={}", database.url()));
        }
        self.set.iter().for_each(|pair| set(pair));
        Ok(command)
    }

    /// The size of one of SQLite's files; nothing where there is none.
    fn size_mib(&self, name: &str) -> f64 {
        let file: &Path = &self.directory.path().join(name);
        let kib = std::fs::metadata(file).map_or(0, |metadata| metadata.len() / 1_024);
        f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1_024.0
    }
}
