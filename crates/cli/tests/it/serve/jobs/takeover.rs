//! Several nodes on one job: one dies, and one is paused for longer than its leases. Every row gets one verdict and one charge, and
//! the job's end is one event.

use probity_trialdb::postgres;
use rustix::process::Signal;

use super::submission::Submission;
use super::trial::Trial;
use crate::serve::bench::node::{Installation, Node, wait_for};

/// Rows per chunk.
const ROWS: usize = 1_000;
/// Number of chunks, enough that work is left for others after two nodes have started.
const CHUNKS: usize = 20;

/// Log text of a node that returns to a chunk claimed by another.
const LOST: &str = "another node took over the chunk";

/// Reports whether a node is working on chunks.
fn is_at_work(node: &Node) -> bool {
    let metrics = node.client("").get("/metrics").unwrap().body;
    let line = metrics.lines().find(|line| line.starts_with("probity_working_on{work=\"chunks\"}"));
    line.unwrap().split_whitespace().last().unwrap().parse::<f64>().unwrap() > 0.0
}

impl Trial {
    fn on_postgres() -> Option<Self> {
        Some(Self::new(Installation::on(postgres()?.create_database()), 1, 1))
    }

    /// Submits a list with a callback.
    fn submit(&mut self, node: &Node, rows: usize) {
        let url = self.receiver.url();
        let customer = &mut self.customers[0];
        let key = format!("list-{}", customer.jobs.len());
        let emails = (0..rows).map(|n| format!("u{n}@company{}.com", n % 500)).collect();
        customer.jobs.push(Submission::of(emails, key, Some(&url)));
        customer.submit(&mut node.client(&self.key), customer.jobs.len() - 1).unwrap();
    }
}

#[test]
#[ignore = "thorough"]
fn a_node_that_dies_and_one_that_sleeps_leave_a_job_to_others() {
    let Some(mut trial) = Trial::on_postgres() else { return };
    let (sleeper, victim) = (trial.start(), trial.start());
    trial.submit(&victim, CHUNKS * ROWS);
    wait_for("both at work", || (is_at_work(&sleeper) && is_at_work(&victim)).then_some(()));
    sleeper.launched.signal(Signal::STOP);
    victim.kill();
    let heir = trial.start();
    // The third node first takes what the two have left, and has usually continued with the rest when the paused node resumes.
    let taken_over = "SELECT count(*) = 0 OR bool_or(epoch > 1) \
                      AND NOT bool_or(leased_until < extract(epoch FROM now()) * 1000) FROM chunk";
    wait_for("the end of their leases", || (trial.installation.sql(taken_over) == "t").then_some(()));
    sleeper.launched.signal(Signal::CONT);
    let installation = trial.end();
    wait_for("its finding out", || installation.log().contains(LOST).then_some(()));
    // From then on, the node works normally.
    assert_eq!(sleeper.readiness(), Some(200));
    sleeper.stop();
    heir.stop();
}

#[test]
#[ignore = "thorough"]
fn a_node_that_sleeps_within_a_transaction_keeps_nobody_waiting() {
    // While a chunk is settled, the last statement before the commit is the event for its rows. Before the commit, the job's rows
    // are locked; afterwards, they are not.
    for moment in ["before", "after"] {
        let Some(mut trial) = Trial::on_postgres() else { return };
        let failpoint = format!("commit/webhooks::outbox::PUT:{moment}:1:stop");
        let Ok(sleeper) = trial.installation.start_armed(&failpoint) else { panic!("it ended") };
        trial.submit(&sleeper, CHUNKS * ROWS);
        wait_for("sleep", || sleeper.launched.is_stopped().then_some(()));
        let heir = trial.start();
        wait_for("the heir", || is_at_work(&heir).then_some(()));
        sleeper.launched.signal(Signal::CONT);
        let installation = trial.end();
        wait_for("its finding out", || installation.log().contains(LOST).then_some(()));
        sleeper.stop();
        heir.stop();
    }
}
