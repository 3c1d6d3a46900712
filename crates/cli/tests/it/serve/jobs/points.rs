//! The process killed at a certain statement or commit: when a job is accepted, its chunks are claimed and settled, a
//! webhook is told of its rows, it is cancelled, it is packed, and its end is told.
//!
//! That every point leaves the database in order is tested in the store. Here it is the whole process that dies there, with
//! everything else that it has under way; some points are drawn at each run. `PROBITY_POINTS` is how many,
//! `PROBITY_POINTS_SEED` takes another seed.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use probity_mail::rng::Rng;
use probity_trialdb::postgres;
use rustix::process::Signal;

use super::trial::Trial;
use crate::serve::node::{Installation, from_environment};

const POINTS: u64 = 7;
const CUSTOMERS: usize = 2;

/// Statements that customers' everyday requests pass, by what is done.
const STATEMENTS: [&[&str]; 7] = [
    // Accepted.
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
    // Sorted, and claimed.
    &[
        "jobs::import::TAKE",
        "jobs::import::ADD_CHUNK",
        "jobs::import::READY",
        "jobs::work::TAKE",
        "jobs::work::START",
        "commit/jobs::work::TAKE",
    ],
    // Settled.
    &[
        "jobs::work::HOLDER",
        "jobs::work::ADD_PART",
        "jobs::work::COUNT",
        "jobs::work::DONE",
        "jobs::work::LEFT",
        "credits::hold::SET",
        "credits::hold::MOVE",
        "usage::ADD",
        "jobs::close::CLOSE",
    ],
    // Settled, and a webhook is told of the rows.
    &["webhooks::LISTENERS", "outbox::PUT", "commit/outbox::PUT"],
    // Cancelled.
    &["jobs::close::FIND", "jobs::LOCK", "jobs::close::CLOSE"],
    // Packed.
    &[
        "jobs::packing::ADD_RESULT_BLOCK",
        "jobs::packing::SET_PACKED",
        "jobs::packing::DROP_CHUNKS",
        "jobs::packing::END_PACKING",
    ],
    // Told.
    &["outbox::PUT", "outbox::CLAIM", "commit/outbox::CLAIM", "outbox::RECORD", "commit/outbox::RECORD"],
];

/// One point of each kind, and again.
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
            // It found something to do at once.
            Err(mut launched) => status = launched.ended().0.signal(),
        }
        assert_eq!(status, Some(Signal::KILL.as_raw()), "seed {seed}: {point}");
        trial.check_books();
    }
    trial.end();
}

/// A start refuses a name that no statement has. So all of them are tried here, whatever is drawn elsewhere.
#[test]
fn every_point_has_its_statement() {
    let all: Vec<String> =
        STATEMENTS.iter().flat_map(|kind| kind.iter().map(|name| format!("{name}:before:{}:kill", u32::MAX))).collect();
    match Installation::on_sqlite().start_armed(&all.join(",")) {
        Ok(node) => node.stop(),
        Err(mut launched) => panic!("{:?}", launched.ended()),
    }
}

#[test]
fn jobs_survive_death_at_any_point_in_sqlite() {
    killed_at_points(Installation::on_sqlite());
}

#[test]
fn jobs_survive_death_at_any_point_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    killed_at_points(Installation::on(cluster.create_database()));
}
