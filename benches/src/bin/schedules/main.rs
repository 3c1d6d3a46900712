//! Speed of connections that work by themselves: webhooks a second, the cost of nights, and how soon new contacts are verified.
//!
//! Starts simulated platforms (`probity-espworld`) without limits and the real program (`probity serve --sandbox`) over a new
//! PostgreSQL. A night is made due by moving all slots, so its runs compete for the node as they would after an outage. The program
//! fails if a webhook was not counted, a slot has not exactly one finished run, or a new contact got no verdict.
//!
//! `cargo build --release -p probity-cli && cargo run --release -p probity-benches --bin schedules` measures all.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

mod delay;
mod events;
mod night;
mod service;

use clap::{Parser, ValueEnum};
use probity_benches::place::PlaceArguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Webhooks a second.
    Events,
    /// Time and CPU of runs that are all due at once.
    Night,
    /// Time from a contact's creation to its verdict.
    Delay,
}

/// Measures the work of schedules and webhooks.
#[derive(Parser)]
struct Arguments {
    /// Parts to measure [default: all].
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Connections of the night.
    #[arg(long, default_value_t = 10_000)]
    connections: u32,
    /// Nights, one after another.
    #[arg(long, default_value_t = 2)]
    nights: u32,
    /// Connections with new contacts, of each of two platforms.
    #[arg(long, default_value_t = 50)]
    growing: u32,
    /// Seconds of each measurement of webhooks.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[command(flatten)]
    place: PlaceArguments,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = Arguments::parse();
    // The night moves slots by SQL.
    arguments.place.postgres = true;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let wants = |part: Part| arguments.only.is_empty() || arguments.only.contains(&part);
    runtime.block_on(async {
        if wants(Part::Events) {
            events::measure(&arguments.place, arguments.seconds).await?;
        }
        if wants(Part::Night) {
            night::measure(&arguments.place, arguments.connections, arguments.nights).await?;
        }
        if wants(Part::Delay) {
            delay::measure(&arguments.place, arguments.growing).await?;
        }
        Ok(())
    })
}
