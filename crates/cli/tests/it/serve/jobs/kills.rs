//! Repeated `kill -9` while customers submit, read and cancel, and immediate stops of PostgreSQL: no accepted job is lost; every
//! row gets one verdict, one charge and one event to a subscribed webhook; each job's end is one event.
//!
//! A seed sets the moments. `PROBITY_KILLS` is the number of kills per database, `PROBITY_KILLS_SEED` another seed.

use std::time::Instant;

use probity_mail::rng::Rng;
use probity_trialdb::Setup;

use super::trial::Trial;
use crate::serve::bench::node::{Installation, Node, from_environment, wait_for};

const KILLS: u64 = 8;
const CUSTOMERS: usize = 2;
/// Interval of kills during a start.
const EARLY: u64 = 11;
/// Interval of kills of PostgreSQL.
const OF_DATABASE: u64 = 6;

struct Loop {
    trial: Trial,
    moments: Rng,
    kills: u64,
    of_database: u64,
}

impl Loop {
    /// Runs all kills; `database` kills the database, if it has its own process.
    fn run(installation: Installation, database: Option<&dyn Fn(Database)>) {
        let (wanted, seed) = (from_environment("PROBITY_KILLS", KILLS), from_environment("PROBITY_KILLS_SEED", 1));
        let begun = Instant::now();
        println!("seed {seed}");
        let trial = Trial::new(installation, CUSTOMERS, seed);
        let mut this = Self { trial, moments: Rng::new(seed), kills: 0, of_database: 0 };
        while this.kills < wanted {
            this.kills += 1;
            match database {
                _ if this.kills.is_multiple_of(EARLY) => this.trial.installation.killed_early(this.moments.next_u64()),
                Some(database) if this.kills.is_multiple_of(OF_DATABASE) => this.database_dies(database),
                _ => this.process_dies(),
            }
            this.trial.check_books();
        }
        let (kills, of_database) = (this.kills, this.of_database);
        println!("{kills} kills, {of_database} of them of the database, took {:?}", begun.elapsed());
        this.trial.end();
        println!("with its end it took {:?}", begun.elapsed());
    }

    /// Kills the service after some responses.
    fn process_dies(&mut self) {
        let mut node = self.trial.start();
        let more = self.moments.next_u64() % 60;
        self.trial.at_work(&mut node, |work| {
            work.answers(more);
            work.node.launched.die();
        });
    }

    /// Stops and restarts the database while the service continues, then kills the service.
    fn database_dies(&mut self, database: &dyn Fn(Database)) {
        let mut node = self.trial.start();
        let more = self.moments.next_u64() % 60;
        self.trial.at_work(&mut node, |work| {
            work.answers(more);
            database(Database::Dies);
            becomes(work.node, 503);
            database(Database::ComesBack);
            becomes(work.node, 200);
            work.answers(20);
            work.nobody_has_left();
        });
        self.of_database += 1;
        self.trial.check_listed(&node);
        self.kills += 1;
        node.kill();
    }
}

/// What happens to PostgreSQL.
enum Database {
    Dies,
    ComesBack,
}

fn becomes(node: &Node, readiness: u16) {
    wait_for("another readiness", || (node.readiness() == Some(readiness)).then_some(()));
}

#[test]
#[ignore = "thorough"]
fn jobs_survive_kills_in_sqlite() {
    Loop::run(Installation::on_sqlite(), None);
}

#[test]
#[ignore = "thorough"]
fn jobs_survive_kills_in_postgresql() {
    let Some(cluster) = Setup::default().fast().start() else { return };
    let installation = Installation::on(cluster.create_database());
    Loop::run(
        installation,
        Some(&|what| match what {
            Database::Dies => cluster.stop_immediate(),
            Database::ComesBack => cluster.start_again(),
        }),
    );
}
