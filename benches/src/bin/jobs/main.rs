//! Speed of jobs: submission, verification, reading results.
//!
//! The program under test is `probity serve` as a child process, so that memory and CPU time are the service's own. Client, service
//! and database share the machine. Select a part with `--part`:
//!
//! - `arrive`: submits lists over HTTP during live calls at a steady pace;
//! - `whole`: runs lists of several sizes in the sandbox, from acceptance to the last result; measures memory, CPU time, bytes
//!   stored;
//! - `pages`: reads the rows of the largest list at any depth, also while another list runs;
//! - `nodes`: runs the same list with one and with two processes on one database (PostgreSQL);
//! - `engine`: runs a list against simulated MX hosts on loopback, and the engine alone in the same world.
//!
//! `cargo build --release -p probity-cli && cargo run --release -p probity-benches --bin jobs` uses SQLite in a temporary
//! directory. `-- --postgres` uses a private PostgreSQL that syncs its log; `-- --rows 100000` uses a shorter list. The program
//! fails on a wrong response, never because something was slow.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

mod alone;
mod arrive;
mod database;
mod job;
mod list;
mod nodes;
mod pages;
mod report;
mod whole;

use clap::{Parser, ValueEnum};
use probity_benches::place::PlaceArguments;
use probity_benches::world::{self, Shape};
use report::Report;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Submits lists to a service and prints their cost.
#[derive(Parser)]
struct Arguments {
    /// Addresses of the longest list.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Measure only these parts.
    #[arg(long)]
    part: Vec<Part>,
    #[command(flatten)]
    place: PlaceArguments,
    /// Live calls per second while lists arrive.
    #[arg(long, default_value_t = 1_000)]
    calls: u32,
    /// Domains of the simulated MX hosts.
    #[arg(long, default_value_t = 5_000)]
    domains: u32,
    /// Delay before a simulated MX host answers what it has received, in milliseconds.
    #[arg(long, default_value_t = 5)]
    latency_ms: u64,
    /// Addresses verified at the simulated MX hosts.
    #[arg(long, default_value_t = 100_000)]
    asked: u64,
    /// Serve the simulated MX hosts (used internally).
    #[arg(long, hide = true)]
    serve: bool,
    /// Verify with the engine alone: address of the name server and port of the MX hosts (used internally).
    #[arg(long, hide = true, num_args = 2)]
    alone: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Arrive,
    Whole,
    Pages,
    Nodes,
    Engine,
}

impl Arguments {
    fn wants(&self, part: Part) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    fn shape(&self) -> Shape {
        Shape { domains: self.domains, latency_ms: self.latency_ms }
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    probity_engine::net::descriptors::descriptor_limit();
    if arguments.serve || !arguments.alone.is_empty() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(async {
            if arguments.serve { world::serve(arguments.shape()).await } else { alone::ask(&arguments).await }
        });
    }
    // One thread is enough for a client, and leaves the service most of two cores.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(&arguments))
}

async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    println!("{} addresses, {}", arguments.rows, if arguments.place.postgres { "PostgreSQL" } else { "SQLite" });
    let mut report = Report::begin()?;
    if arguments.wants(Part::Arrive) {
        arrive::measure(arguments, &mut report).await?;
    }
    if arguments.wants(Part::Whole) || arguments.wants(Part::Pages) {
        whole::measure(arguments, &mut report).await?;
    }
    if arguments.wants(Part::Nodes) && arguments.place.postgres {
        nodes::measure(arguments, &mut report).await?;
    }
    if arguments.wants(Part::Engine) {
        alone::measure(arguments, &mut report).await?;
    }
    Ok(())
}
