//! Cost of a verdict for a test key, on one core: addresses whose outcome is a hash, and one at a simulated server.
//!
//! The first must be so cheap that a load test with a test key measures the service and not the sandbox.

use std::time::{Duration, Instant};

use clap::Parser;
use probity_engine::{EngineConfig, LiveCall};
use probity_mailworld::sandbox::Sandbox;

/// Measures verifications per second.
#[derive(Parser)]
struct Arguments {
    /// Seconds per kind of address.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

/// Number of addresses; too many for the processor's caches.
const ADDRESSES: usize = 20_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let length = Duration::from_secs(Arguments::parse().seconds);
    let sandbox = Sandbox::new(&EngineConfig::default())?;
    let many = |domain: &str| (0..ADDRESSES).map(|n| format!("ann.lee{n}@{domain}")).collect::<Vec<_>>();
    for (name, addresses) in [
        ("hash, popular domain", many("gmail.com")),
        ("hash, unknown domain", many("acme-widgets.com")),
        ("hash, disposable domain", many("mailinator.com")),
        ("table", vec!["spam@sandbox.test".to_owned()]),
        ("server, from the cache", vec!["valid@sandbox.test".to_owned()]),
        ("server, asked each time", vec!["unverified@sandbox.test".to_owned()]),
        ("server, other recipients", many("sandbox.test")),
    ] {
        println(name, rate(&sandbox, &addresses, length).await);
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result")]
fn println(name: &str, rate: f64) {
    println!("{name:<26} {rate:>10.0} a second");
}

async fn rate(sandbox: &Sandbox, addresses: &[String], length: Duration) -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a measurement of real time")]
    let began = Instant::now();
    let mut done = 0_u32;
    for email in addresses.iter().cycle() {
        std::hint::black_box(sandbox.verify(email, LiveCall { timeout_ms: 20_000, scope: 1 }).await);
        done += 1;
        if done.is_multiple_of(64) && began.elapsed() >= length {
            break;
        }
    }
    f64::from(done) / began.elapsed().as_secs_f64()
}
