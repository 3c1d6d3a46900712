//! Runs of connections through the real program, on simulated platforms that fail, with `kill -9` while it reads, verifies and
//! acts.
//!
//! A [`Drill`](drill::Drill) is one platform, a [`Ground`] is an installation with several. At the end, the platform's log of
//! changes is checked ([`verdict`]):
//!
//! - Every contact is in the result once.
//! - Nothing was done twice, to other contacts or over the platform's limits.
//! - Only misspelled addresses were corrected.
//! - The platform's state matches the rows.
//! - No credential and no address is in a forbidden place.
//!
//! A seed determines platform, contacts, faults and settings; the first seed of an installation, the times of kills.
//! `PROBITY_ESP_KILLED` is the number of seeds per database, `PROBITY_ESP_SEED` the first of them, or the only one.

#![expect(clippy::disallowed_methods, reason = "clients on loopback, which wait for the program")]
#![expect(clippy::print_stdout, reason = "which seed it was, shown where a test fails or where it is asked for")]

mod drill;
mod drill_settings;
mod ground;
mod polls;
mod slips;
mod verdict;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use probity_trialdb::postgres;

use crate::serve::bench::node::{Installation, from_environment};
use ground::Ground;
use polls::Nights;

/// Seeds per database, unless the environment sets another number: one per platform takes a minute.
const SEEDS: u64 = 4;
/// Platforms per installation. Starting the service costs more than a run.
const TOGETHER: u64 = 4;
/// Concurrent installations. They wait most of the time.
const AT_ONCE: usize = 3;

/// Returns the first seed of a database, and the number of its seeds.
fn seeds(first: u64) -> (u64, u64) {
    let (first, usual) = match from_environment("PROBITY_ESP_SEED", 0) {
        0 => (first, SEEDS),
        seed => (seed, 1),
    };
    (first, from_environment("PROBITY_ESP_KILLED", usual))
}

/// Runs the seeds, several at a time in one installation.
fn for_each_ground(
    (first, seeds): (u64, u64),
    together: u64,
    installation: impl Fn() -> Installation + Sync,
    play: impl Fn(Ground) + Sync,
) {
    let (next, end) = (AtomicU64::new(first), first + seeds);
    let (failed, installation, play) = (Mutex::new(Vec::new()), &installation, &play);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(together, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let seeds = seed..end.min(seed + together);
                    let count = seeds.end - seed;
                    // A panic's message begins with the name of its thread.
                    let name = format!("PROBITY_ESP_SEED={seed} PROBITY_ESP_KILLED={count}");
                    let one = move || play(Ground::new(installation(), seeds));
                    let thread = std::thread::Builder::new().name(name.clone());
                    if thread.spawn_scoped(scope, one).unwrap().join().is_err() {
                        failed.lock().unwrap().push(name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "seeds that failed: {failed:#?}");
}

/// Migrates an installation that each drill copies: migrations would take most of its first start.
fn migrated(installation: Installation) -> Installation {
    let ran = installation.run(&["migrate"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    installation
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_in_sqlite() {
    let migrated = migrated(Installation::on_sqlite());
    for_each_ground(seeds(1), TOGETHER, || migrated.cloned(), Ground::whole);
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    let migrated = migrated(Installation::on(cluster.create_database()));
    for_each_ground(seeds(1_001), TOGETHER, || migrated.cloned(), Ground::whole);
}

/// Returns fewer seeds, because each takes most of a minute.
fn few((first, seeds): (u64, u64)) -> (u64, u64) {
    (first, seeds.div_ceil(10))
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_between_polls_in_sqlite() {
    let migrated = migrated(Installation::on_sqlite());
    for_each_ground(few(seeds(1)), 1, || migrated.cloned(), |ground| ground.polled(Nights::None));
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_between_polls_and_nights_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    let migrated = migrated(Installation::on(cluster.create_database()));
    for_each_ground(few(seeds(1_001)), 1, || migrated.cloned(), |ground| ground.polled(Nights::Many));
}
