//! Log lines of the program itself.

use serde_json::Value;

use crate::serve::bench::node::Installation;

#[test]
#[ignore = "thorough"]
fn a_panic_is_a_line_of_the_log_without_its_message() {
    let installation = Installation::on_sqlite().set(&["log.format=json"]);
    let first = installation.start();
    let key = first.key("Live key");
    first.stop();
    let Ok(node) = installation.start_armed("activity::reports::VERIFIED_BETWEEN:before:1:panic") else {
        panic!("it listens")
    };
    let answer = node.client(&key).get("/v1/organization").unwrap();
    assert_eq!(answer.status, 500, "{answer:?}");
    assert_eq!(node.client(&key).get("/v1/organization").unwrap().status, 200, "the service goes on");
    node.stop();
    let log = installation.log();
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    let panics: Vec<&Value> = lines.iter().filter(|line| line["message"] == "panic").collect();
    let [panic] = panics[..] else { panic!("one panic: {log}") };
    assert!(panic["fields"]["place"].as_str().unwrap().contains("failpoint.rs:"), "{panic}");
    assert_eq!(panic["request_id"], answer.json()["error"]["request_id"], "{panic}");
    assert!(!log.contains("was armed"), "{log}");
}
