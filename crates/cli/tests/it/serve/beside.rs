//! Commands beside a running service, on the same data: the service applies their changes within 2 s.

use std::time::{Duration, Instant};

use probity_trialdb::postgres;
use serde_json::json;

use crate::serve::bench::node::{Installation, Node};

/// Limit promised by the documentation.
const NOTICED: Duration = Duration::from_secs(2);

/// Sends requests until the status is as expected; fails after [`NOTICED`].
fn noticed(node: &Node, key: &str, status: u16) {
    let begun = Instant::now();
    loop {
        let asked = Instant::now();
        let answer = node.client(key).verify("valid@sandbox.test").unwrap();
        if answer.status == status {
            return;
        }
        assert!(asked.duration_since(begun) < NOTICED, "still {answer:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_noticed(installation: &Installation) {
    let node = installation.start();
    let first = node.key("Live key");
    noticed(&node, &first, 402);
    let org = installation.ask(&["credits", "grant", "--amount", "10000", "--json"])["organization"].clone();
    let org = org.as_str().unwrap();
    noticed(&node, &first, 200);

    let made = installation.ask(&["keys", "create", "--name", "another", "--json"]);
    let another = made["secret"].as_str().unwrap();
    noticed(&node, another, 200);
    let renamed = installation.ask(&["keys", "rename", made["id"].as_str().unwrap(), "third", "--json"]);
    assert_eq!((&renamed["name"], &renamed["id"]), (&json!("third"), &made["id"]));
    let rotated = installation.ask(&["keys", "rotate", made["id"].as_str().unwrap(), "--overlap", "1", "--json"]);
    assert_eq!((&rotated["name"], &rotated["replaces"]["id"]), (&json!("third"), &made["id"]));
    noticed(&node, rotated["secret"].as_str().unwrap(), 200);
    let again = installation.run(&["keys", "rotate", made["id"].as_str().unwrap()]);
    assert!(again.code != Some(0) && again.err.contains("rotate its successor"), "{}", again.err);
    let revoked = installation.ask(&["keys", "revoke", made["id"].as_str().unwrap(), "--json"]);
    assert_eq!((&revoked["name"], revoked["revoked_at"].is_string()), (&json!("third"), true), "{revoked}");
    noticed(&node, another, 401);
    noticed(&node, &first, 200);

    installation.ask(&["orgs", "suspend", org, "--json"]);
    noticed(&node, &first, 403);
    installation.ask(&["orgs", "lift", org, "--json"]);
    noticed(&node, &first, 200);
    crate::serve::bench::account::audit(installation);
    node.stop();
}

#[test]
#[ignore = "thorough"]
fn the_command_line_is_noticed_in_sqlite() {
    is_noticed(&Installation::on_sqlite().metered(0));
}

#[test]
#[ignore = "thorough"]
fn the_command_line_is_noticed_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    is_noticed(&Installation::on(cluster.create_database()).metered(0));
}
