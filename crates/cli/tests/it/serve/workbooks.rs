//! Workbooks for several organizations at once: a process writes two at a time, and a request that waits too long is refused.

use std::sync::mpsc::channel;

use probity_trialdb::postgres;

use crate::serve::bench::client::{Answer, Client, field};
use crate::serve::bench::node::{Installation, Node, PATIENCE, wait_for};

/// Blocks the addresses of lists, so that a workbook in progress stalls.
const STAND_STILL: &str = "BEGIN; LOCK TABLE job_block IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)";
/// Selects the sessions that hold this lock.
const HOLDING: &str =
    "FROM pg_locks WHERE relation = 'job_block'::regclass AND mode = 'AccessExclusiveLock' AND granted";

/// An organization with a verified list.
struct Customer {
    client: Client,
    workbook: String,
}

impl Customer {
    fn new(installation: &Installation, node: &Node, name: &str) -> Self {
        let org = installation.ask(&["orgs", "create", name, "--json"])["id"].as_str().unwrap().to_owned();
        let key = installation.ask(&["keys", "create", "--kind", "test", "--org", &org, "--json"]);
        let mut client = node.client(key["secret"].as_str().unwrap());
        let accepted = client.post("/v1/batch-verify", "list", r#"{"emails":["valid@sandbox.test"]}"#).unwrap();
        let place = format!("/v1/batch-verify/{}", accepted.json()["id"].as_str().unwrap());
        wait_for("the end of the job", || {
            let status = client.get(&format!("{place}/status")).unwrap();
            (status.json()["status"] == "completed").then_some(())
        });
        Self { client, workbook: format!("{place}/download?format=xlsx") }
    }

    fn workbook(&mut self) -> Answer {
        self.client.get(&self.workbook).unwrap()
    }
}

#[test]
#[ignore = "thorough"]
fn of_three_organizations_two_get_workbooks_at_a_time_and_the_third_is_told_when_to_come_again() {
    let Some(cluster) = postgres() else { return };
    let installation = Installation::on(cluster.create_database());
    let node = installation.start();
    let mut customers = ["One", "Two", "Three"].map(|name| Customer::new(&installation, &node, name));
    std::thread::scope(|scope| {
        scope.spawn(|| installation.try_sql(STAND_STILL).expect_err("it is ended below"));
        wait_for("the lock", || (installation.sql(&format!("SELECT COUNT(*) {HOLDING}")) == "1").then_some(()));
        let (answers, come) = channel();
        for customer in &mut customers {
            let answers = answers.clone();
            scope.spawn(move || answers.send(customer.workbook()).unwrap());
        }
        let refused = come.recv_timeout(PATIENCE).unwrap();
        installation.sql(&format!("SELECT pg_terminate_backend(pid) {HOLDING}"));
        assert!(refused.is_unavailable(), "{refused:?}");
        assert_eq!(field(&refused.head, "retry-after"), Some("5"), "{refused:?}");
        assert!(refused.body.contains("try again, or use csv"), "{refused:?}");
        for _ in 0..2 {
            let written = come.recv_timeout(PATIENCE).unwrap();
            assert!(written.status == 200 && written.body.starts_with("PK"), "{written:?}");
        }
    });
    // Each has capacity again.
    for customer in &mut customers {
        assert_eq!(customer.workbook().status, 200);
    }
    node.stop();
}
