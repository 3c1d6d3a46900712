//! People: how they are let in, their passwords, second factors, and how often somebody may try.

pub mod attempts;
pub mod passwords;
pub mod totp;

use probity_store::passwords::Cost;
use probity_store::sessions::Lifetimes;

use crate::ops::metrics::Metrics;
use crate::people::passwords::Passwords;

/// How people are let in.
#[derive(Clone, Copy, Debug)]
pub struct PeopleConfig {
    /// How long sessions last.
    pub lifetimes: Lifetimes,
    /// What hashing a password costs.
    pub cost: Cost,
    /// Passwords that are hashed at the same time: each takes the memory of its cost, and a processor.
    pub hashes_at_once: usize,
}

impl Default for PeopleConfig {
    fn default() -> Self {
        Self {
            lifetimes: Lifetimes { idle_ms: 12 * 3_600_000, absolute_ms: 14 * 24 * 3_600_000 },
            cost: passwords::USUAL_COST,
            hashes_at_once: 2,
        }
    }
}

/// What all requests of people share.
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
