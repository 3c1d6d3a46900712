//! Erasures and the master key, across processes: an erasure completes whichever process dies, and an encrypted database is served
//! only with its key.

use probity_trialdb::postgres;

use crate::serve::bench::account::audit;
use crate::serve::bench::client::Client;
use crate::serve::bench::node::{Installation, wait_for};

/// Log text of a start that repeats erasures before it listens.
const DONE_AGAIN: &str = "are repeated before the service listens";
const CANARY: &str = "kanarie.7h2k@catchall.sandbox.test";

/// Submits a list with the canary and waits until it is completed; returns the job's ID.
fn verified(client: &mut Client) -> String {
    let body = format!(r#"{{"emails":["{CANARY}","valid@sandbox.test"]}}"#);
    let submitted = client.post("/v1/batch-verify", "a list", &body).unwrap();
    let job = submitted.json()["id"].as_str().unwrap().to_owned();
    wait_for("the end of the job", || {
        let status = client.get(&format!("/v1/batch-verify/{job}/status")).unwrap().json();
        (status["processed"] == true).then_some(())
    });
    job
}

fn files_hold_canary(installation: &Installation) -> bool {
    let entries = std::fs::read_dir(installation.place.path("data")).unwrap();
    let bytes = entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    bytes.into_iter().any(|bytes| bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()))
}

/// Points at which the erasing process dies: before and after its writes are committed.
const POINTS: [&str; 6] = [
    "jobs::erasing::SET_BLOCK:after:1:kill",
    "commit/privacy::erasures::RECORD:before:1:kill",
    "commit/privacy::erasures::RECORD:after:1:kill",
    "commit/privacy::erasures::RECORD:after:2:kill",
    "commit/privacy::erasures::RECORD:after:3:kill",
    "commit/privacy::erasures::COMPLETE:before:1:kill",
];

#[test]
#[ignore = "thorough"]
fn an_erasure_comes_to_its_end_whoever_dies_on_the_way() {
    for point in POINTS {
        let installation = Installation::on_sqlite().set(&["batch.lease=1s"]);
        let node = installation.start();
        let key = node.key("Live key");
        let mut client = node.client(&key);
        let job = verified(&mut client);
        assert!(files_hold_canary(&installation), "else this test would show nothing");
        node.stop();
        let Ok(mut node) = installation.start_armed(point) else { panic!("{point}: it ended at its start") };
        let asked = format!(r#"{{"emails":["{CANARY}"]}}"#);
        // The process may die before it responds; the request has been recorded.
        let _ = node.client(&key).post("/v1/erasures", "erase", &asked);
        node.launched.ended();

        let node = installation.start();
        let mut client = node.client(&key);
        let receipt = wait_for("the erasure", || {
            let listed = client.get("/v1/erasures").unwrap().json()["data"].clone();
            assert_eq!(listed.as_array().map(Vec::len), Some(1), "{point}");
            (listed[0]["status"] == "completed").then(|| listed[0].clone())
        });
        assert_eq!(receipt["removed"]["job_block"], 1, "{point}: counted once: {receipt}");
        let rows = client.get(&format!("/v1/batch-verify/{job}/results")).unwrap().json();
        assert_eq!(
            (&rows["data"][0]["email"], &rows["data"][1]["email"]),
            (&"erased".into(), &"valid@sandbox.test".into())
        );
        node.stop();
        assert!(!files_hold_canary(&installation), "{point}");
        assert!(!installation.log().contains(DONE_AGAIN), "{point}: nothing was restored");
        let shown = installation.ask(&["erasures", "show", receipt["id"].as_str().unwrap(), "--json"]);
        assert_eq!((&shown["status"], &shown["addresses"]), (&"completed".into(), &1.into()));
        audit(&installation);
    }
}

/// Failures while an erasure request is recorded, and the number of requests afterwards.
const TAKING: [(&str, usize); 3] = [
    ("commit/idempotency::KEEP_ANSWER:before:1:error", 0),
    ("commit/idempotency::KEEP_ANSWER:before:1:kill", 0),
    ("commit/idempotency::KEEP_ANSWER:after:1:kill", 1),
];

#[test]
#[ignore = "thorough"]
fn a_wish_stands_in_the_database_and_the_file_or_in_neither() {
    for (point, stand) in TAKING {
        let installation = Installation::on_sqlite().set(&["batch.lease=1s"]);
        let node = installation.start();
        let key = node.key("Live key");
        node.stop();
        let Ok(mut node) = installation.start_armed(point) else { panic!("{point}: it ended at its start") };
        let asked = format!(r#"{{"emails":["{CANARY}"]}}"#);
        let answer = node.client(&key).post("/v1/erasures", "erase", &asked);
        if point.ends_with("kill") {
            node.launched.ended();
        } else {
            assert_eq!(answer.unwrap().status, 503);
            node.stop();
        }

        let node = installation.start();
        let mut client = node.client(&key);
        wait_for("the erasures", || {
            let listed = client.get("/v1/erasures").unwrap().json()["data"].clone();
            let listed = listed.as_array().unwrap();
            assert_eq!(listed.len(), stand, "{point}");
            listed.iter().all(|one| one["status"] == "completed").then_some(())
        });
        node.stop();
        let file = std::fs::read_to_string(installation.place.path("data/erasures.tombstones")).unwrap();
        assert_eq!((file.matches("\"id\"").count(), file.matches("\"completed\"").count()), (stand, stand), "{point}");
        assert!(!installation.log().contains(DONE_AGAIN), "{point}");
    }
}

/// Restores a backup made while an erasure was open, after the erasure was completed.
fn what_was_completed_is_erased_again_before_anything_is_served(installation: Installation) {
    const DIES: &str = "commit/privacy::erasures::RECORD:before:1:kill";
    let installation = installation.set(&["batch.lease=1s"]);
    let node = installation.start();
    let key = node.key("Live key");
    let mut client = node.client(&key);
    let job = verified(&mut client);
    node.stop();
    let Ok(mut node) = installation.start_armed(DIES) else { panic!("it ended at its start") };
    let _ = node.client(&key).post("/v1/erasures", "erase", &format!(r#"{{"emails":["{CANARY}"]}}"#));
    node.launched.ended();
    let backup = installation.backup();

    let node = installation.start();
    let mut client = node.client(&key);
    wait_for("the erasure", || {
        let listed = client.get("/v1/erasures").unwrap().json()["data"].clone();
        (listed[0]["status"] == "completed").then_some(())
    });
    node.stop();
    let installation = installation.restored(backup);
    assert!(installation.start_armed(DIES).is_err(), "it listens before it has begun to erase");
    assert!(installation.log().contains(DONE_AGAIN));
    let node = installation.start();
    let mut client = node.client(&key);
    let rows = client.get(&format!("/v1/batch-verify/{job}/results")).unwrap().json();
    assert_eq!(
        (&rows["data"][0]["email"], &rows["data"][1]["email"]),
        (&"erased".into(), &"valid@sandbox.test".into())
    );
    assert_eq!(client.get("/v1/erasures").unwrap().json()["data"][0]["status"], "completed");
    node.stop();
    assert!(!files_hold_canary(&installation));
    audit(&installation);
}

#[test]
#[ignore = "thorough"]
fn a_backup_from_within_an_erasure_is_erased_again_before_it_is_served() {
    what_was_completed_is_erased_again_before_anything_is_served(Installation::on_sqlite());
}

#[test]
#[ignore = "thorough"]
fn a_backup_of_postgresql_from_within_an_erasure_is_erased_again_before_it_is_served() {
    let Some(cluster) = postgres() else { return };
    what_was_completed_is_erased_again_before_anything_is_served(Installation::on(cluster.create_database()));
}

#[test]
#[ignore = "thorough"]
fn a_wish_of_the_command_line_is_carried_out_by_the_service() {
    let installation = Installation::on_sqlite();
    let node = installation.start();
    let mut client = node.client(&node.key("Live key"));
    verified(&mut client);
    let asked = installation.ask(&["erasures", "erase", CANARY, "--json"]);
    assert_eq!(asked["status"], "queued");
    wait_for("the erasure", || {
        let listed = installation.ask(&["erasures", "list", "--json"]);
        (listed["status"] == "completed").then_some(())
    });
    let timeline = client.get("/v1/account/timeline").unwrap();
    assert!(timeline.body.contains("\"erasure\"") && timeline.body.contains("\"staff\""), "{}", timeline.body);
    node.stop();
    assert!(!files_hold_canary(&installation));
}

#[test]
#[ignore = "thorough"]
fn a_sealed_database_is_served_with_its_master_key_only() {
    let installation = Installation::on_sqlite();
    let file = |name: &str| installation.place.path(name).display().to_string();
    let (key, next) = (file("master.key"), file("next.key"));
    for file in [&key, &next] {
        let made = installation.run_plainly(&["master-key", "new", file]);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    assert_eq!(installation.run_plainly(&["master-key", "new", &key]).code, Some(2), "it never takes another's place");
    let sealed = installation.set(&[&format!("secrets.master_key_file={key}")]);
    let node = sealed.start();
    let live = node.key("Live key");
    let mut client = node.client(&live);
    let job = verified(&mut client);
    node.stop();
    assert!(!files_hold_canary(&sealed));
    let plain = sealed.set(&["secrets.master_key_file="]);
    let refused = plain.run(&["orgs", "list"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.err.contains("secrets.master_key_file"), "{refused:?}");
    let sealed = plain.set(&[&format!("secrets.master_key_file={key}")]);
    let wrapped = sealed.run(&["master-key", "rewrap", &next]);
    assert_eq!(wrapped.code, Some(0), "{wrapped:?}");
    assert!(sealed.run(&["orgs", "list"]).err.contains("wrong master key"));
    let sealed = sealed.set(&[&format!("secrets.master_key_file={next}")]);
    let node = sealed.start();
    let rows = node.client(&live).get(&format!("/v1/batch-verify/{job}/results")).unwrap().json();
    assert_eq!(rows["data"][0]["email"], CANARY);
    node.stop();
}
