//! Runs of connections through the real program, on simulated platforms that fail, with `kill -9` while it reads, verifies and
//! acts.
//!
//! A [`Drill`](drill::Drill) is one platform, a [`Ground`] the installation of some. At the end, each platform says what was done
//! to whom ([`verdict`]): every contact is in the result once, nothing was done twice, to anybody else or over the platform's
//! limits, only misspelled addresses were corrected, the platform is as the rows say, and no credential and no address is where it
//! must not be.
//!
//! A seed draws platform, contacts, faults and settings, the first seed of an installation its moments. `PROBITY_ESP_KILLED` is the
//! number of seeds for each database, `PROBITY_ESP_SEED` the first of them, or the only one.

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

/// Seeds for each database, unless the environment says otherwise: one for each platform takes a minute.
const SEEDS: u64 = 4;
/// Platforms of an installation. A start of the service costs more than a run.
const TOGETHER: u64 = 4;
/// Installations at a time. Most of their time they wait.
const AT_ONCE: usize = 3;

/// The first seed of a database, and the number of its seeds.
fn seeds(first: u64) -> (u64, u64) {
    let (first, usual) = match from_environment("PROBITY_ESP_SEED", 0) {
        0 => (first, SEEDS),
        seed => (seed, 1),
    };
    (first, from_environment("PROBITY_ESP_KILLED", usual))
}

/// Plays the seeds, some at a time in one installation.
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

/// Migrates an installation of which each drill has a copy: migrations would take most of its first start.
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

/// Fewer, because each takes most of a minute.
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
