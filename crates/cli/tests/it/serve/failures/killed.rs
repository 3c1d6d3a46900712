//! Repeated `kill -9` during live traffic: no credit is lost, none is spent twice, and the service restarts.
//!
//! A seed sets the moments: `PROBITY_CRASH_SEED` is another seed, `PROBITY_CRASH_ROUNDS` the number of rounds.

use probity_mail::rng::Rng;
use probity_trialdb::postgres;

use crate::serve::bench::account::{audit, settled};
use crate::serve::bench::node::{Installation, from_environment, wait_for};
use crate::serve::bench::traffic::{Seen, Traffic};

const ROUNDS: u64 = 25;
const CLIENTS: usize = 16;
const GRANTED: u32 = 50_000;
/// Interval of rounds that kill the process during its start.
const EARLY: u64 = 6;
/// Interval of rounds with an audit between two kills.
const AUDITED: u64 = 8;

/// Kills the process after some responses; returns what its clients saw.
fn killed_at_work(installation: &Installation, key: &str, random: u64) -> Seen {
    let node = installation.start();
    let traffic = Traffic::start(node.address, key, CLIENTS);
    wait_for("answers", || (traffic.answers() > random % 150).then_some(()));
    node.kill();
    traffic.end()
}

fn killed_again_and_again(installation: &Installation) {
    let (rounds, begin) = (from_environment("PROBITY_CRASH_ROUNDS", ROUNDS), from_environment("PROBITY_CRASH_SEED", 1));
    let mut moments = Rng::new(begin);
    let first = installation.start();
    let key = first.key("Live key");
    first.kill();
    let mut seen = Seen::default();
    for round in 1..=rounds {
        let random = moments.next_u64();
        if round % EARLY == 0 {
            installation.killed_early(random);
        } else {
            seen.add(killed_at_work(installation, &key, random));
        }
        if round % AUDITED == 0 {
            audit(installation);
        }
    }
    let _last = installation.start();
    let account = settled(installation, u64::from(GRANTED), &seen);
    println!("seed {begin}, {rounds} rounds: {account:?}, {seen:?}");
    assert!(seen.charged > 0 && seen.free > 0 && seen.lost > 0 && seen.failed == 0, "{seen:?}");
}

#[test]
#[ignore = "thorough"]
fn a_killed_service_loses_no_credit_in_sqlite() {
    killed_again_and_again(&Installation::on_sqlite().metered(GRANTED));
}

#[test]
#[ignore = "thorough"]
fn a_killed_service_loses_no_credit_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    killed_again_and_again(&Installation::on(cluster.create_database()).metered(GRANTED));
}
