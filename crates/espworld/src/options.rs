//! Options of a world.

use crate::faults::EspFaults;

/// Start time of a virtual clock: 2026-11-22, 10:00 UTC.
pub const EPOCH_MS: i64 = 1_795_341_600_000;

/// Domains of generated addresses.
const DOMAINS: [&str; 5] = ["example.com", "Example.org", "mail.example.net", "xn--bcher-kva.example", "example.test"];

/// Domains of the sandbox. One in 8 addresses does not exist; 2 in 8 are at other domains that deliver nothing.
const SANDBOX: [&str; 8] = [
    "sandbox.test",
    "catchall.sandbox.test",
    "catchall.sandbox.test",
    "catchall.sandbox.test",
    "catchall.sandbox.test",
    "catchall.sandbox.test",
    "disposable.sandbox.test",
    "available.sandbox.test",
];

/// Options of a world.
#[derive(Clone, Debug)]
pub struct EspOptions {
    pub seed: u64,
    /// Initial number of contacts.
    pub contacts: u32,
    pub lists: u32,
    pub domains: Vec<String>,
    pub faults: EspFaults,
    /// Delay of every reply, in milliseconds. Only with the machine's clock.
    pub latency_ms: u64,
    /// Whether rate limits are enforced.
    pub is_limited: bool,
    /// Whether the world uses the machine's clock.
    pub is_real_time: bool,
    /// Port to listen on; 0 for any.
    pub port: u16,
    /// Origin of the URLs in replies, if there is a proxy in front of the world; `None` for the world's own.
    pub public_origin: Option<String>,
}

impl EspOptions {
    /// Returns options for a small account without faults, under a virtual clock.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            contacts: 250,
            lists: 3,
            domains: DOMAINS.map(str::to_owned).to_vec(),
            faults: EspFaults::none(),
            latency_ms: 0,
            is_limited: true,
            is_real_time: false,
            port: 0,
            public_origin: None,
        }
    }

    /// Returns options for measuring throughput: 1,000,000 contacts, 20 ms per call, no rate limits.
    pub fn throughput(seed: u64) -> Self {
        Self { contacts: 1_000_000, latency_ms: 20, is_limited: false, is_real_time: true, ..Self::new(seed) }
    }

    /// Uses addresses that have verdicts in the sandbox.
    #[must_use]
    pub fn sandboxed(self) -> Self {
        Self { domains: SANDBOX.map(str::to_owned).to_vec(), ..self }
    }
}
