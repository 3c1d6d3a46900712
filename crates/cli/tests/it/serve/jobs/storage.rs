//! Failures of the storage under jobs: full, read-only, missing, unresponsive. Requests that need it get a 503 as the contract
//! defines it. When it is back, the service recovers by itself, and no accepted job is lost.

use std::os::unix::fs::MetadataExt as _;

use probity_trialdb::Cluster;

use super::customer::Miss;
use super::submission::Submission;
use super::trial::Trial;
use crate::serve::bench::node::{Installation, Node, wait_for};
use crate::serve::failures::disk::Small;

/// Rows of a list that takes a while.
const ROWS: usize = 12_000;
/// Maximum lists that may end before the failure reaches a worker.
const ROUNDS: usize = 8;
/// Capacity of the file system, enough for such a list.
const ROOM: &str = "24m";
/// Capacity for PostgreSQL, including the server's own tables.
const ROOM_OF_POSTGRESQL: &str = "64m";
/// Log texts of workers that meet the failure; small lists accepted last may still be waiting for their import.
const AT_WORK: [&str; 5] = [
    "cannot renew the lease of a chunk",
    "cannot store the state of a chunk",
    "cannot read a chunk",
    "cannot claim work",
    "an import failed",
];

impl Trial {
    /// Adds a list with a callback.
    fn add(&mut self, rows: usize) -> &mut Submission {
        let (url, jobs) = (self.receiver.url(), &mut self.customers[0].jobs);
        let emails = (0..rows).map(|n| format!("u{n}@company{}.com", n % 500)).collect();
        jobs.push(Submission::of(emails, format!("list-{}", jobs.len()), Some(&url)));
        jobs.last_mut().unwrap()
    }

    /// Submits the last list, possibly again.
    fn submit_last(&mut self, node: &Node) -> Result<(), Miss> {
        let customer = &mut self.customers[0];
        customer.submit(&mut node.client(&self.key), customer.jobs.len() - 1)
    }

    /// Submits lists until one has some but not all of its verdicts.
    fn begin(&mut self, node: &Node) {
        let is_under_way = (0..ROUNDS).any(|_| self.submit_until_first_verdicts(node));
        assert!(is_under_way, "{ROUNDS} lists ended before anybody saw them at work");
    }

    /// Submits a list and waits for its first verdicts; returns `false` if it is already completed.
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

    /// Waits until a submission gets a 503. A full disk may have space for some before that.
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

    /// Waits until a worker logs the failure; returns `false` if the lists from `first` on ended before, because their last
    /// writes found space. Earlier lists prove nothing: after a chunk failed, no worker claims it until its lease ends.
    fn reaches_the_workers(&self, node: &Node, first: usize, logged: usize) -> bool {
        let mut client = node.client(&self.key);
        let ids: Vec<&String> = self.customers[0].jobs[first..].iter().filter_map(|job| job.id.as_ref()).collect();
        wait_for("trouble at work", || {
            let log = self.installation.log();
            let met = AT_WORK.iter().any(|words| log[logged..].contains(words));
            let mut is_over = |id: &&String| {
                let answer = client.get(&format!("/v1/batch-verify/{id}/status")).unwrap();
                Miss::or_json(&answer).is_ok_and(|status| status["status"] == "completed")
            };
            (met || ids.iter().all(&mut is_over)).then_some(met)
        })
    }

    /// Waits until the same submission is accepted, without any restart.
    fn is_accepted_again(&mut self, node: &Node) {
        wait_for("the same submission's acceptance", || self.submit_last(node).ok());
        assert!(self.customers[0].jobs.last().unwrap().id.is_some());
    }

    /// Breaks the storage during a list and repairs it; returns `true` if a worker met the failure.
    fn goes_through(&mut self, node: &Node, happens: impl Fn(), put_right: impl Fn()) -> bool {
        self.begin(node);
        // The list in progress.
        let first = self.customers[0].jobs.len() - 1;
        let logged = self.installation.log().len();
        happens();
        self.is_refused(node);
        let met = self.reaches_the_workers(node, first, logged);
        put_right();
        self.is_accepted_again(node);
        met
    }

    /// Repeats until workers have met the failure twice, then checks the result. On a busy machine, a list may end before its
    /// storage fails; another follows.
    fn survives(mut self, happens: impl Fn(), put_right: impl Fn()) {
        let node = self.start();
        let met = (0..ROUNDS).filter(|_| self.goes_through(&node, &happens, &put_right)).take(2).count();
        assert_eq!(met, 2, "{ROUNDS} lists ended before a worker met the trouble");
        node.stop();
        self.end();
    }
}

#[test]
#[ignore = "thorough"]
fn jobs_outlast_a_full_disk_under_sqlite() {
    let installation = Installation::on_sqlite();
    let Some(small) = Small::under(&installation, ROOM) else { return };
    Trial::new(installation, 1, 1).survives(|| small.fill(), || small.clear());
}

#[test]
#[ignore = "thorough"]
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

/// Starts a service on a private PostgreSQL, which may be stopped.
fn on_postgres(cluster: &Cluster) -> Trial {
    Trial::new(Installation::on(cluster.create_database()), 1, 1)
}

#[test]
#[ignore = "thorough"]
fn jobs_outlast_a_full_disk_under_postgresql() {
    let Some(cluster) = Cluster::private() else { return };
    let Some(small) = Small::at(cluster.directory().join("small"), ROOM_OF_POSTGRESQL) else { return };
    // The log is stored elsewhere: only the tables run out of disk space.
    small.give_to(std::fs::metadata(cluster.directory()).unwrap().uid());
    let (database, by_hand) = (cluster.create_database(), cluster.create_database());
    by_hand.query(&format!("CREATE TABLESPACE small LOCATION '{}'", small.path().display())).unwrap();
    by_hand.query(&format!("ALTER DATABASE {} SET TABLESPACE small", database.name())).unwrap();
    Trial::new(Installation::on(database), 1, 1).survives(|| small.fill(), || small.clear());
}

#[test]
#[ignore = "thorough"]
fn jobs_outlast_a_crash_of_postgresql() {
    let Some(cluster) = Cluster::private() else { return };
    on_postgres(&cluster).survives(|| cluster.stop_immediate(), || cluster.start_again());
}

#[test]
#[ignore = "thorough"]
fn jobs_outlast_a_postgresql_that_stands_still() {
    let Some(cluster) = Cluster::private() else { return };
    let mut trial = on_postgres(&cluster);
    // The worker's tasks get no error from the server, so they need a timeout.
    trial.installation = trial.installation.set(&["database.statement_timeout=2s"]);
    trial.survives(|| cluster.pause(), || cluster.resume());
}

#[test]
#[ignore = "thorough"]
fn jobs_outlast_a_postgresql_that_takes_no_writes() {
    let Some(cluster) = Cluster::private() else { return };
    let by_hand = cluster.create_database();
    // The server acts as a standby to which the service is connected.
    let set = |sql: &str| {
        by_hand.query(sql).unwrap();
        by_hand.query("SELECT pg_reload_conf()").unwrap();
    };
    on_postgres(&cluster).survives(
        || set("ALTER SYSTEM SET default_transaction_read_only = on"),
        || set("ALTER SYSTEM RESET default_transaction_read_only"),
    );
}
