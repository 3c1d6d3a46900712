//! `kill -9` again and again while customers submit, read and cancel, and PostgreSQL stopped as by a crash under them: nothing
//! that was accepted is lost, every row is answered once, charged once and told once to a webhook that wants to know, and each end
//! is told as one event.
//!
//! The moments are drawn from a seed. `PROBITY_KILLS` is how often each database's service is killed, `PROBITY_KILLS_SEED`
//! takes another seed.

use std::time::Instant;

use probity_mail::rng::Rng;
use probity_trialdb::Setup;

use super::trial::Trial;
use crate::serve::node::{Installation, Node, from_environment, wait_for};

const KILLS: u64 = 8;
const CUSTOMERS: usize = 2;
/// Every so many kills the process dies while it starts.
const EARLY: u64 = 11;
/// Every so many kills it is PostgreSQL that dies.
const OF_DATABASE: u64 = 6;

struct Loop {
    trial: Trial,
    moments: Rng,
    kills: u64,
    of_database: u64,
}

impl Loop {
    /// Kills until it is enough; `database` kills the database, where there is a process of it.
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

    /// The service dies after some answers.
    fn process_dies(&mut self) {
        let mut node = self.trial.start();
        let more = self.moments.next_u64() % 60;
        self.trial.at_work(&mut node, |work| {
            work.answers(more);
            work.node.launched.die();
        });
    }

    /// The database dies and comes back, and the service goes on; then that dies too.
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

/// What is done to PostgreSQL.
enum Database {
    Dies,
    ComesBack,
}

fn becomes(node: &Node, readiness: u16) {
    wait_for("another readiness", || (node.readiness() == Some(readiness)).then_some(()));
}

#[test]
fn jobs_survive_kills_in_sqlite() {
    Loop::run(Installation::on_sqlite(), None);
}

#[test]
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
