//! Runs of connections through the real program, on simulated platforms that fail, with `kill -9` while it reads, verifies and acts.
//!
//! A [`Drill`] is one installation and one platform. At its end, the platform says what was done to whom ([`verdict`]): every contact
//! is in the result once, nothing was done twice, to anybody else or over the platform's limits, only misspelled addresses were
//! corrected, the platform is as the rows say, and no credential and no address is where it must not be.
//!
//! A seed draws platform, contacts, faults, settings and moments. `PROBITY_ESP_KILLED` is the number of seeds for each database,
//! `PROBITY_ESP_SEED` the first of them, or the only one.

#![expect(clippy::disallowed_methods, reason = "clients on loopback, which wait for the program")]
#![expect(clippy::print_stdout, reason = "which seed it was, shown where a test fails or where it is asked for")]

mod drill;
mod drill_settings;
mod polls;
mod slips;
mod verdict;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use probity_trialdb::postgres;

use crate::serve::bench::node::{Installation, from_environment};
use drill::Drill;
use polls::Nights;

/// Seeds for each database, unless the environment says otherwise: one for each platform takes a minute.
const SEEDS: u64 = 4;
/// Drills at a time. Most of their time they wait.
const AT_ONCE: usize = 4;

/// The first seed of a database, and the number of its seeds.
fn seeds(first: u64) -> (u64, u64) {
    let (first, usual) = match from_environment("PROBITY_ESP_SEED", 0) {
        0 => (first, SEEDS),
        seed => (seed, 1),
    };
    (first, from_environment("PROBITY_ESP_KILLED", usual))
}

fn for_each_seed(
    (first, seeds): (u64, u64),
    installation: impl Fn() -> Installation + Sync,
    drill: impl Fn(Drill) + Sync,
) {
    let (next, end) = (AtomicU64::new(first), first + seeds);
    let (failed, installation, drill) = (Mutex::new(Vec::new()), &installation, &drill);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    // A panic's message begins with the name of its thread.
                    let thread = std::thread::Builder::new().name(format!("PROBITY_ESP_SEED={seed}"));
                    let one = move || drill(Drill::new(installation(), seed));
                    if thread.spawn_scoped(scope, one).unwrap().join().is_err() {
                        failed.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "seeds that failed: {failed:?}");
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_in_sqlite() {
    for_each_seed(seeds(1), Installation::on_sqlite, Drill::whole);
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    for_each_seed(seeds(1_001), || Installation::on(cluster.create_database()), Drill::whole);
}

/// Fewer, because each takes most of a minute.
fn few((first, seeds): (u64, u64)) -> (u64, u64) {
    (first, seeds.div_ceil(10))
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_between_polls_in_sqlite() {
    for_each_seed(few(seeds(1)), Installation::on_sqlite, |drill| drill.polled(Nights::None));
}

#[test]
#[ignore = "thorough"]
fn connections_survive_kills_between_polls_and_nights_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    for_each_seed(
        few(seeds(1_001)),
        || Installation::on(cluster.create_database()),
        |drill| drill.polled(Nights::Many),
    );
}
