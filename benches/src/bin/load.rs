//! Speed and cost of the whole engine over real sockets.
//!
//! A child process serves a simulated mail internet on loopback. This process holds only the engine, so that CPU time and memory
//! are the engine's. Both share the machine's cores. Caches are cold, limits are off, the MX hosts are honest and support
//! pipelining, and 70% of the addresses exist.
//!
//! `cargo run --release -p probity-benches --bin load` verifies a million addresses over 10,000 domains; `-- --quick` is a short
//! run that fails on a wrong verdict.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use probity_benches::process::{self, float};
use probity_benches::world::{self, Shape, Verdicts, World};
use probity_engine::verifier::Verifier as _;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Verifies generated addresses over loopback and prints the cost.
#[derive(Parser)]
struct Arguments {
    /// Number of addresses.
    #[arg(long, default_value_t = 1_000_000)]
    addresses: u64,
    /// Number of domains.
    #[arg(long, default_value_t = 10_000)]
    domains: u32,
    /// Delay before an MX host answers what it has received, in milliseconds.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// Use 20,000 addresses over 200 domains.
    #[arg(long)]
    quick: bool,
    /// Use STARTTLS if offered.
    #[arg(long)]
    tls: bool,
    /// Serve the world (used internally).
    #[arg(long, hide = true)]
    serve: bool,
}

impl Arguments {
    fn shape(&self) -> Shape {
        Shape { domains: self.domains, latency_ms: self.latency_ms }
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        (arguments.addresses, arguments.domains) = (20_000, 200);
    }
    probity_engine::net::descriptors::descriptor_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        if arguments.serve { world::serve(arguments.shape()).await } else { measure(&arguments).await }
    })
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let world = World::start(arguments.shape())?;
    let engine = world::engine(world.dns, world.smtp_port, arguments.tls)?;
    let verdicts = Arc::new(Verdicts::default());
    let (cpu, started) = (process::cpu(std::process::id())?, Instant::now());
    world::verify_all(&engine, arguments.addresses, arguments.domains, &verdicts).await?;
    let wall = started.elapsed().as_secs_f64();
    let cpu = process::cpu(std::process::id())?.saturating_sub(cpu).as_secs_f64();
    let counters = engine.counters();
    engine.close(2_000).await;
    let seen = world.stop()?;
    let count = float(arguments.addresses);
    let each = |n: u64| float(n) / count;
    println!("addresses            {}", arguments.addresses);
    println!("addresses/s          {:.0}", count / wall);
    println!(
        "CPU ms per address   {:.4} (the world's {:.4})",
        cpu * 1_000.0 / count,
        seen.cpu_seconds * 1_000.0 / count
    );
    println!("peak memory, MiB     {:.0}", process::peak_mib(std::process::id())?);
    println!("connections/address  {:.4}", each(counters.connections));
    println!("RCPT/address         {:.4}", each(counters.rcpts));
    println!("queries/address      {:.4} (the world counted {})", each(counters.queries), seen.queries);
    println!("waits/address        {:.4}", each(counters.waits));
    let [right, wrong, undecided] = verdicts.check(arguments.addresses)?;
    println!("verdicts             {right} right, {wrong} wrong, {undecided} undecided");
    Ok(())
}
