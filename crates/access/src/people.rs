//! Sign-in of users: passwords, two-factor codes, and limits on attempts.

pub mod attempts;
pub mod passwords;
pub mod totp;

use probity_store::accounts::people::passwords::HashCost;
use probity_store::accounts::people::sessions::SessionLifetimes;
use probity_telemetry::metrics::Metrics;

use crate::people::passwords::Passwords;

/// Settings of sign-in.
#[derive(Clone, Copy, Debug)]
pub struct PeopleConfig {
    pub lifetimes: SessionLifetimes,
    /// Cost of hashing a password.
    pub cost: HashCost,
    /// Passwords hashed concurrently. Each takes the memory of its cost, and a processor.
    pub hashes_at_once: usize,
}

impl Default for PeopleConfig {
    fn default() -> Self {
        Self {
            lifetimes: SessionLifetimes { idle_ms: 12 * 3_600_000, absolute_ms: 14 * 24 * 3_600_000 },
            cost: passwords::USUAL_COST,
            hashes_at_once: 2,
        }
    }
}

/// State shared by all requests of users.
pub struct People {
    pub config: PeopleConfig,
    pub passwords: Passwords,
}

impl People {
    pub fn new(config: PeopleConfig, metrics: &Metrics) -> Self {
        let hashed = metrics.accounts().passwords_hashed();
        Self { config, passwords: Passwords::new(config.cost, config.hashes_at_once, hashed) }
    }
}
