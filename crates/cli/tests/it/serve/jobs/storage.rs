//! The storage under jobs: full, read-only, gone, standing still. Requests that need it are answered 503 as the contract has it;
//! when it is back, the service goes on by itself, and nothing that was accepted is lost.

use std::os::unix::fs::MetadataExt as _;

use probity_trialdb::Cluster;

use super::customer::Miss;
use super::submission::Submission;
use super::trial::Trial;
use crate::serve::disk::Small;
use crate::serve::node::{Installation, Node, wait_for};

/// Rows of a list that takes a while.
const ROWS: usize = 12_000;
/// Lists that may end before the trouble reaches a worker.
const ROUNDS: usize = 8;
/// Room in which it fits.
const ROOM: &str = "24m";
/// The same beside the server's own tables.
const ROOM_OF_POSTGRESQL: &str = "64m";
/// What those log who meet the trouble behind the requests: small lists that were accepted last may still wait for their import.
const AT_WORK: [&str; 4] =
    ["a chunk could not be held for longer", "a chunk failed", "no work could be taken up", "an import failed"];

impl Trial {
    /// Adds a list whose end is to be told.
    fn add(&mut self, rows: usize) -> &mut Submission {
        let (url, jobs) = (self.receiver.url(), &mut self.customers[0].jobs);
        let emails = (0..rows).map(|n| format!("u{n}@company{}.com", n % 500)).collect();
        jobs.push(Submission::of(emails, format!("list-{}", jobs.len()), Some(&url)));
        jobs.last_mut().unwrap()
    }

    /// Submits the last list, perhaps again.
    fn submit_last(&mut self, node: &Node) -> Result<(), Miss> {
        let customer = &mut self.customers[0];
        customer.submit(&mut node.client(&self.key), customer.jobs.len() - 1)
    }

    /// Submits lists until one has some of its verdicts and not all of them.
    fn begin(&mut self, node: &Node) {
        let is_under_way = (0..ROUNDS).any(|_| self.submit_until_first_verdicts(node));
        assert!(is_under_way, "{ROUNDS} lists ended before anybody saw them at work");
    }

    /// Submits a list of which some rows have their verdicts when this returns. False if all have.
    fn submit_until_first_verdicts(&mut self, node: &Node) -> bool {
        self.add(ROWS);
        self.submit_last(node).unwrap();
        let path = format!("/v1/batch-verify/{}/status", self.customers[0].jobs.last().unwrap().id.as_ref().unwrap());
        let mut client = node.client(&self.key);
        wait_for("the first verdicts", || {
            let status = Miss::or_json(&client.get(&path).unwrap()).ok()?;
            status["emailsProcessed"].as_u64().is_some_and(|n| n > 0).then(|| status["status"] != "completed")
        })
    }

    /// Waits until a submission is answered 503. A full disk may have room for some before that.
    fn is_refused(&mut self, node: &Node) {
        let mut client = node.client(&self.key);
        wait_for("a submission that is refused", || {
            let job = self.add(10);
            let answer = client.post("/v1/batch-verify", &job.idempotency_key, &job.body).unwrap();
            if !answer.is_unavailable() {
                job.accepted(&Miss::or_json(&answer).ok()?);
                return None;
            }
            Some(())
        });
    }

    /// Waits until a worker logs the trouble, too. False if the list ended first: its last writes found room.
    fn reaches_the_workers(&self, node: &Node, before: usize) -> bool {
        let mut client = node.client(&self.key);
        let ids: Vec<&String> = self.customers[0].jobs.iter().filter_map(|job| job.id.as_ref()).collect();
        wait_for("trouble at work", || {
            let log = self.installation.log();
            let met = AT_WORK.iter().any(|words| log[before..].contains(words));
            let mut is_over = |id: &&String| {
                let answer = client.get(&format!("/v1/batch-verify/{id}/status")).unwrap();
                Miss::or_json(&answer).is_ok_and(|status| status["status"] == "completed")
            };
            (met || ids.iter().all(&mut is_over)).then_some(met)
        })
    }

    /// Waits until the same submission is accepted, without a new start of anything.
    fn is_accepted_again(&mut self, node: &Node) {
        wait_for("the same submission's acceptance", || self.submit_last(node).ok());
        assert!(self.customers[0].jobs.last().unwrap().id.is_some());
    }

    /// Something happens to the storage while a list is under way, and is put right. True if a worker met the trouble.
    fn goes_through(&mut self, node: &Node, happens: impl Fn(), put_right: impl Fn()) -> bool {
        self.begin(node);
        let before = self.installation.log().len();
        happens();
        self.is_refused(node);
        let met = self.reaches_the_workers(node, before);
        put_right();
        self.is_accepted_again(node);
        met
    }

    /// Workers meet the trouble twice; then everything is as it should be. Where the machine runs the service much more than the
    /// test, a list may end before its storage fails; another follows.
    fn survives(mut self, happens: impl Fn(), put_right: impl Fn()) {
        let node = self.start();
        let met = (0..ROUNDS).filter(|_| self.goes_through(&node, &happens, &put_right)).take(2).count();
        assert_eq!(met, 2, "{ROUNDS} lists ended before a worker met the trouble");
        node.stop();
        self.end();
    }
}

#[test]
fn jobs_outlast_a_full_disk_under_sqlite() {
    let installation = Installation::on_sqlite();
    let Some(small) = Small::under(&installation, ROOM) else { return };
    Trial::new(installation, 1, 1).survives(|| small.fill(), || small.clear());
}

#[test]
fn jobs_outlast_a_death_on_a_full_disk_that_cannot_be_written() {
    let installation = Installation::on_sqlite();
    let Some(small) = Small::under(&installation, ROOM) else { return };
    let mut trial = Trial::new(installation, 1, 1);
    let node = trial.start();
    trial.begin(&node);
    small.fill();
    trial.is_refused(&node);
    node.kill();
    let refuses_to_start = |trial: &Trial| {
        let (status, printed) = trial.installation.launch().ended();
        assert_eq!((status.code(), printed.as_str()), (Some(5), ""), "{}", trial.installation.log());
    };
    refuses_to_start(&trial);
    small.clear();
    small.remount("remount,ro");
    refuses_to_start(&trial);
    small.remount("remount,rw");
    trial.end();
}

/// A service on a PostgreSQL of its own, which may be stopped.
fn on_postgres(cluster: &Cluster) -> Trial {
    Trial::new(Installation::on(cluster.create_database()), 1, 1)
}

#[test]
fn jobs_outlast_a_full_disk_under_postgresql() {
    let Some(cluster) = Cluster::private() else { return };
    let Some(small) = Small::at(cluster.directory().join("small"), ROOM_OF_POSTGRESQL) else { return };
    // Its log lies elsewhere: only the tables meet the end of the disk.
    small.give_to(std::fs::metadata(cluster.directory()).unwrap().uid());
    let (database, by_hand) = (cluster.create_database(), cluster.create_database());
    by_hand.query(&format!("CREATE TABLESPACE small LOCATION '{}'", small.path().display())).unwrap();
    by_hand.query(&format!("ALTER DATABASE {} SET TABLESPACE small", database.name())).unwrap();
    Trial::new(Installation::on(database), 1, 1).survives(|| small.fill(), || small.clear());
}

#[test]
fn jobs_outlast_a_crash_of_postgresql() {
    let Some(cluster) = Cluster::private() else { return };
    on_postgres(&cluster).survives(|| cluster.stop_immediate(), || cluster.start_again());
}

#[test]
fn jobs_outlast_a_postgresql_that_stands_still() {
    let Some(cluster) = Cluster::private() else { return };
    let mut trial = on_postgres(&cluster);
    // Nobody tells the worker's tasks that time is up; they must find it out.
    trial.installation = trial.installation.set(&["database.statement_timeout=2s"]);
    trial.survives(|| cluster.pause(), || cluster.resume());
}

#[test]
fn jobs_outlast_a_postgresql_that_takes_no_writes() {
    let Some(cluster) = Cluster::private() else { return };
    let by_hand = cluster.create_database();
    // As a standby that the service is sent to.
    let set = |sql: &str| {
        by_hand.query(sql).unwrap();
        by_hand.query("SELECT pg_reload_conf()").unwrap();
    };
    on_postgres(&cluster).survives(
        || set("ALTER SYSTEM SET default_transaction_read_only = on"),
        || set("ALTER SYSTEM RESET default_transaction_read_only"),
    );
}
