//! Nodes that divide the work, and nodes that must not share a source IP.

use probity_trialdb::postgres;
use serde_json::Value;

use crate::serve::bench::node::{Installation, Launched, wait_for};

/// Configuration of a node that probes real mail servers, but finds none: nothing leaves this machine.
const WITH_A_SOURCE: &str = "[dns]\nnameservers = [\"127.0.0.1:9\"]\n[[source]]\npublic = \"192.0.2.10\"\n";

/// Returns the output of `probity nodes`.
fn nodes(installation: &Installation) -> Vec<Value> {
    let ran = installation.run(&["nodes", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the roles of the listed nodes, and whether they are alive.
fn listed(installation: &Installation) -> Vec<(String, bool)> {
    let roles = |node: &Value| serde_json::from_value::<Vec<String>>(node["roles"].clone()).unwrap().join(",");
    nodes(installation).iter().map(|node| (roles(node), node["alive"] == true)).collect()
}

#[test]
#[ignore = "thorough"]
fn a_job_is_taken_by_one_node_and_verified_by_another() {
    let Some(cluster) = postgres() else { return };
    let installation = Installation::on(cluster.create_database());
    let api = installation.start_as(&["--roles", "api"]);
    let key = api.key("Test key");
    let mut client = api.client(&key);
    let answer = client.post("/v1/batch-verify", "one", "{\"emails\":[\"valid@sandbox.test\"]}").unwrap();
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(listed(&installation), [("api".to_owned(), true)]);
    let status = |client: &mut crate::serve::bench::client::Client| {
        client.get(&format!("/v1/batch-verify/{id}/status")).unwrap().json()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&mut client), "starting", "nobody is there who would sort it");

    let worker = installation.start_as(&["--roles", "worker,schedule"]);
    wait_for("the job's end", || (status(&mut client) == "completed").then_some(()));
    assert!(worker.client(&key).get("/v1/jobs").unwrap().is_unavailable());
    let both = nodes(&installation);
    let leases: Vec<&Value> = both.iter().map(|node| &node["leases"]).collect();
    assert_eq!(leases, [&serde_json::json!([]), &serde_json::json!(["schedule"])]);
    worker.stop();
    assert_eq!(listed(&installation), [("api".to_owned(), true)], "who was stopped has gone at once");
    api.kill();
    let next = installation.start();
    assert_eq!(listed(&installation), [("api,worker,delivery,schedule".to_owned(), true)], "who was killed here, too");
    next.stop();
    assert!(nodes(&installation).is_empty());
}

/// Starts a node with a source IP, beside existing nodes.
fn with_a_source(installation: &Installation, more: &[&str]) -> Launched {
    let args = ["serve", "--listen", "127.0.0.1:0", "--config", "source.toml"];
    installation.launch_with(&[&args, more].concat())
}

#[test]
#[ignore = "thorough"]
fn a_source_belongs_to_one_node_until_that_one_is_gone() {
    let installation = Installation::on_sqlite();
    installation.place.write("source.toml", WITH_A_SOURCE);
    let mut holder = with_a_source(&installation, &[]);
    holder.line_with("Listening on ");
    let node = &nodes(&installation)[0];
    let (id, sources) = (node["id"].as_str().unwrap().to_owned(), &node["sources"]);
    assert_eq!(sources, &serde_json::json!(["192.0.2.10"]));
    assert_eq!(node["leases"].as_array().unwrap().len(), 2, "{node}");

    let (status, printed) = with_a_source(&installation, &[]).ended();
    assert_eq!((status.code(), printed.as_str()), (Some(5), ""));
    let log = installation.log();
    assert!(log.contains("192.0.2.10") && log.contains(&id), "{log}");
    // A node that sends no probes may start beside it.
    let mut idle = with_a_source(&installation, &["--roles", "delivery"]);
    idle.line_with("Listening on ");
    drop(idle);

    holder.kill();
    let mut next = with_a_source(&installation, &[]);
    next.line_with("Listening on ");
    let left = nodes(&installation);
    assert_eq!(left.len(), 1, "nobody had to wait for those that were killed: {left:?}");
    assert_ne!(left[0]["id"].as_str(), Some(&*id));
}
