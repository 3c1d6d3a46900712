//! People in a browser: signing in, sessions, second factors, and the API as they use it.
//!
//! Routes under `/app` are for the dashboard's own pages and live on a cookie; `/v1` never looks at one. A request that changes
//! something must come from a page of ours ([`origin`]) and, within a session, say the session's page token. [`guard`] opens the
//! session anew for each request, so what is revoked is over. Under `/app/v1` lie the routes of the API, with the scopes of the
//! person's role. What comes before a session is [`sign_in`] and [`links`], both behind [`attempts`].

pub(crate) mod attempts;
mod client;
mod cookie;
pub(crate) mod guard;
pub(crate) mod links;
pub(crate) mod origin;
mod own;
pub(crate) mod passwords;
pub(crate) mod recovery;
pub mod routes;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub mod totp;
pub(crate) mod view;

use probity_store::passwords::Cost;
use probity_store::sessions::Lifetimes;

use self::passwords::Passwords;
use crate::ops::metrics::Metrics;

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
pub(crate) struct People {
    pub(crate) config: PeopleConfig,
    pub(crate) passwords: Passwords,
}

impl People {
    pub(crate) fn new(config: PeopleConfig, metrics: &Metrics) -> Self {
        let hashed = metrics.accounts().passwords_hashed();
        Self { config, passwords: Passwords::new(config.cost, config.hashes_at_once, hashed) }
    }
}
