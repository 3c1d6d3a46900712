//! A private PostgreSQL for tests: started if its programs are found, otherwise skipped with a message.
//!
//! ```no_run
//! let Some(cluster) = probity_trialdb::postgres() else { return };
//! let database = cluster.create_database();
//! println!("{}", database.url());
//! ```
//!
//! An instance has its own data directory among the temporary files or in memory, one port of 127.0.0.1, no Unix socket (whose path
//! could be too long), and a random password. It never outlives the process that started it, however that process ends: a watchdog
//! stops it and removes its files. PostgreSQL refuses to run as root, so root's instances run as `postgres`, or else `nobody`.
//!
//! If no programs are found, the result is `None`, with one line on standard error. With `PROBITY_REQUIRE_PG=1`, that panics, so
//! that a run that must test PostgreSQL cannot pass without it. All other failures panic with the programs' output, since tests
//! cannot handle them.

use std::sync::OnceLock;

mod account;
mod cluster;
mod database;
mod installation;
mod memory;
mod processes;
mod watchdog;

pub use cluster::{Cluster, Setup};
pub use database::TrialDatabase;
pub use memory::scratch_directory;

/// Returns the instance shared by this process's tests, starting it at the first call; `None` if PostgreSQL is missing.
///
/// It is a [`Setup::fast`] instance. Tests that check durability or stop the server start a [`Cluster::private`] one.
pub fn postgres() -> Option<&'static Cluster> {
    static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
    SHARED.get_or_init(|| Setup::default().fast().start()).as_ref()
}
