//! Kills at a given statement or commit: acceptance of a job, claim and settlement of its chunks, an event for its rows,
//! cancellation, packing, and its callback.
//!
//! The store's tests show that every point leaves the database consistent. Here, the whole process dies with everything else in
//! progress. Each run draws some points; `PROBITY_POINTS` is their number, `PROBITY_POINTS_SEED` another seed.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use probity_mail::rng::Rng;
use probity_trialdb::postgres;
use rustix::process::Signal;

use super::trial::Trial;
use crate::serve::bench::node::{Installation, from_environment};

const POINTS: u64 = 7;
const CUSTOMERS: usize = 2;

/// Statements of everyday requests, by phase.
const STATEMENTS: [&[&str]; 7] = [
    // Acceptance.
    &[
        "jobs::accept::BEGIN",
        "jobs::accept::ADD_BLOCK",
        "jobs::accept::BORN",
        "commit/jobs::accept::ADD_BLOCK",
        "credits::hold::PLACE",
        "idempotency::INSERT",
        "idempotency::KEEP_ANSWER",
        "commit/idempotency::KEEP_ANSWER",
    ],
    // Import and claim.
    &[
        "jobs::import::TAKE",
        "jobs::import::ADD_CHUNK",
        "jobs::import::READY",
        "jobs::work::TAKE",
        "jobs::work::START",
        "commit/jobs::work::TAKE",
    ],
    // Settlement.
    &[
        "jobs::work::HOLDER",
        "jobs::work::ADD_PART",
        "jobs::work::COUNT",
        "jobs::work::DONE",
        "jobs::work::LEFT",
        "credits::hold::SET",
        "credits::hold::MOVE",
        "credits::usage::ADD",
        "jobs::close::CLOSE",
    ],
    // Settlement with an event for the rows. Its commit has no name that both databases reach: PostgreSQL wakes other nodes last.
    &["webhooks::LISTENERS", "webhooks::outbox::PUT"],
    // Cancellation.
    &["jobs::close::FIND", "jobs::LOCK", "jobs::close::CLOSE"],
    // Packing.
    &[
        "jobs::packing::ADD_RESULT_BLOCK",
        "jobs::packing::SET_PACKED",
        "jobs::packing::DROP_CHUNKS",
        "jobs::packing::END_PACKING",
    ],
    // Delivery.
    &[
        "webhooks::outbox::PUT",
        "webhooks::outbox::CLAIM",
        "commit/webhooks::outbox::CLAIM",
        "webhooks::outbox::RECORD",
        "commit/webhooks::outbox::RECORD",
    ],
];

/// Draws one point of each kind in turn.
fn drawn(dice: &mut Rng, n: u64) -> String {
    let kinds = u64::try_from(STATEMENTS.len()).unwrap();
    let statements = STATEMENTS[usize::try_from(n % kinds).unwrap()];
    let moment = ["before", "after"][dice.below(2)];
    format!("{}:{moment}:1:kill", statements[dice.below(statements.len())])
}

fn killed_at_points(installation: Installation) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (points, seed) = (from_environment("PROBITY_POINTS", POINTS), from_environment("PROBITY_POINTS_SEED", now));
    let mut dice = Rng::new(seed);
    let mut trial = Trial::new(installation, CUSTOMERS, seed);
    for n in 0..points {
        let point = drawn(&mut dice, n);
        println!("seed {seed}: {point}");
        let mut status = None;
        match trial.installation.start_armed(&point) {
            Ok(mut node) => trial.at_work(&mut node, |work| status = work.node.launched.ended().0.signal()),
            // The point was reached during the start.
            Err(mut launched) => status = launched.ended().0.signal(),
        }
        assert_eq!(status, Some(Signal::KILL.as_raw()), "seed {seed}: {point}");
        trial.check_books();
    }
    trial.end();
}

/// A start rejects a point without a statement, so this test tries all points, regardless of those drawn by other tests.
#[test]
#[ignore = "thorough"]
fn every_point_has_its_statement() {
    let all: Vec<String> =
        STATEMENTS.iter().flat_map(|kind| kind.iter().map(|name| format!("{name}:before:{}:kill", u32::MAX))).collect();
    match Installation::on_sqlite().start_armed(&all.join(",")) {
        Ok(node) => node.stop(),
        Err(mut launched) => panic!("{:?}", launched.ended()),
    }
}

#[test]
#[ignore = "thorough"]
fn jobs_survive_death_at_any_point_in_sqlite() {
    killed_at_points(Installation::on_sqlite());
}

#[test]
#[ignore = "thorough"]
fn jobs_survive_death_at_any_point_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    killed_at_points(Installation::on(cluster.create_database()));
}
