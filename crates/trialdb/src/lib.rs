//! A private PostgreSQL for tests: started where its programs are found, skipped loudly where they are not.
//!
//! ```no_run
//! let Some(cluster) = probity_trialdb::postgres() else { return };
//! let database = cluster.create_database();
//! println!("{}", database.url());
//! ```
//!
//! An instance is a data directory of its own below the directory for temporary files, one port of 127.0.0.1, no Unix
//! socket (whose path could be too long), and a random password. It never outlives the process that started it, however
//! that process ends: a watchdog stops it and removes its files. PostgreSQL refuses to run as root; there the
//! children run as the account `postgres`, or else `nobody`.
//!
//! Where no programs are found, the answer is `None` and one line on standard error says so; with
//! `PROBITY_REQUIRE_PG=1` it is a panic, so that a run that must have tested PostgreSQL cannot pass without it.
//! Everything else that goes wrong panics too, with what the programs said: a test can do nothing better with it.

use std::sync::OnceLock;

mod account;
mod cluster;
mod database;
mod installation;
mod processes;
mod watchdog;

pub use cluster::{Cluster, Setup};
pub use database::Database;

/// The instance that the tests of this process share, started at the first call; `None` where PostgreSQL is missing.
///
/// It is a [`Setup::fast`] one: tests that ask about durability, or that stop it, start a [`Cluster::private`] one.
pub fn postgres() -> Option<&'static Cluster> {
    static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
    SHARED.get_or_init(|| Setup::default().fast().start()).as_ref()
}
