//! Commands beside a running service, on the same data: the service applies their changes within 2 s.

use std::time::{Duration, Instant};

use probity_trialdb::postgres;

use super::node::{Installation, Node};

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
    installation.ask(&["keys", "revoke", made["id"].as_str().unwrap(), "--json"]);
    noticed(&node, another, 401);
    noticed(&node, &first, 200);

    installation.ask(&["orgs", "suspend", org, "--json"]);
    noticed(&node, &first, 403);
    installation.ask(&["orgs", "lift", org, "--json"]);
    noticed(&node, &first, 200);
    super::account::audit(installation);
    node.stop();
}

#[test]
fn the_command_line_is_noticed_in_sqlite() {
    is_noticed(&Installation::on_sqlite().metered(0));
}

#[test]
fn the_command_line_is_noticed_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    is_noticed(&Installation::on(cluster.create_database()).metered(0));
}
