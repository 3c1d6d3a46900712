//! Wrong clocks: a clock that was ahead and is corrected, and two nodes with different clocks.

use std::ffi::OsStr;

use probity_trialdb::postgres;

use crate::serve::bench::node::{Installation, Node, wait_for};

/// Environment variable for the lead of a process's clock, in milliseconds; only debug builds read it.
const AHEAD: &str = "PROBITY_CLOCK_AHEAD_MS";
const YEAR_MS: &str = "31536000000";
const TWO_HOURS_MS: &str = "7200000";
const TWO_HOURS_BACK_MS: &str = "-7200000";
const LIST: &str = r#"{"emails":["valid@sandbox.test","nobody@sandbox.test"]}"#;

fn start(installation: &Installation, environment: &[(&str, &str)]) -> Node {
    let environment: Vec<(&str, &OsStr)> =
        environment.iter().map(|(name, value)| (*name, OsStr::new(*value))).collect();
    installation.start_in(&environment).unwrap_or_else(|_| panic!("it ended: {}", installation.log()))
}

fn submit(node: &Node, key: &str) -> String {
    let answer = node.client(key).post("/v1/batch-verify", "a-list", LIST).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn completes(node: &Node, key: &str, job: &str) {
    let mut client = node.client(key);
    wait_for("the end of the job", || {
        let status = client.get(&format!("/v1/batch-verify/{job}/status")).unwrap();
        (status.status == 200 && status.json()["status"] == "completed").then_some(())
    });
}

/// Accepts and starts a list under a wrong clock, kills the process, and starts the next one with a correct clock.
fn list_is_completed(installation: &Installation, ahead_ms: &str, failpoint: &str) {
    let mut ahead = start(installation, &[(AHEAD, ahead_ms), ("PROBITY_FAILPOINT", failpoint)]);
    let key = ahead.key("Live key");
    let job = submit(&ahead, &key);
    if failpoint.is_empty() {
        ahead.kill();
    } else {
        ahead.launched.ended();
    }
    let right = start(installation, &[]);
    completes(&right, &key, &job);
    let verified = right.client(&key).verify("valid@sandbox.test").unwrap();
    assert_eq!(verified.status, 200, "{verified:?}");
    crate::serve::bench::account::audit(installation);
    right.stop();
}

#[test]
#[ignore = "thorough"]
fn a_list_goes_on_that_was_begun_under_a_wrong_clock() {
    for ahead_ms in [YEAR_MS, TWO_HOURS_MS, TWO_HOURS_BACK_MS] {
        // The first point leaves a chunk leased, the second an import, the third an unclaimed chunk.
        for failpoint in [
            "jobs::work::ADD_PART:before:1:kill",
            "jobs::import::ADD_CHUNK:after:1:kill",
            "jobs::work::TAKE:before:1:kill",
        ] {
            list_is_completed(&Installation::on_sqlite().counted(1_000), ahead_ms, failpoint);
        }
    }
}

#[test]
#[ignore = "thorough"]
fn a_list_goes_on_that_was_taken_by_a_node_whose_clock_was_ahead() {
    let Some(cluster) = postgres() else { return };
    for ahead_ms in [YEAR_MS, TWO_HOURS_MS, TWO_HOURS_BACK_MS] {
        list_is_completed(&Installation::on(cluster.create_database()).counted(1_000), ahead_ms, "");
    }
}

#[test]
#[ignore = "thorough"]
fn a_node_whose_clock_is_ahead_is_not_ready_and_harms_no_other() {
    let Some(cluster) = postgres() else { return };
    let installation = Installation::on(cluster.create_database());
    let ahead = start(&installation, &[(AHEAD, "3600000")]);
    let right = installation.start();
    let key = ahead.key("Live key");
    wait_for("the end of its readiness", || (ahead.readiness() == Some(503)).then_some(()));
    let readiness = ahead.client("").get("/readyz").unwrap();
    assert!(readiness.json()["error"]["message"].as_str().unwrap().contains("clock"), "{readiness:?}");
    let refused = ahead.client(&key).verify("valid@sandbox.test").unwrap();
    assert!(refused.is_unavailable() && refused.head.to_ascii_lowercase().contains("retry-after: "), "{refused:?}");
    for _ in 0..20 {
        assert_eq!(ahead.client(&key).get("/v1/organization").unwrap().status, 200);
        assert_eq!(right.client(&key).verify("valid@sandbox.test").unwrap().status, 200);
    }
    assert_eq!(right.readiness(), Some(200));
    let job = submit(&ahead, &key);
    completes(&right, &key, &job);
    let metrics = ahead.client("").get("/metrics").unwrap().body;
    let line = metrics.lines().find(|line| line.starts_with("probity_clock_ahead_seconds ")).unwrap();
    let seconds: f64 = line.split_whitespace().last().unwrap().parse().unwrap();
    assert!((3_000.0..=3_600.0).contains(&seconds), "{line}");
    let listed = installation.run(&["nodes"]).out;
    assert!(listed.contains(r#""clock_ahead_ms":3"#), "{listed}");
    assert!(installation.log().contains("this node's clock differs from the database's"));
    right.stop();
    ahead.stop();
}
