//! A service on a machine that cannot probe mail servers, then on one that can.

use std::net::UdpSocket;

use serde_json::Value;

use crate::serve::bench::client::Client;
use crate::serve::bench::node::{Installation, Node, wait_for};

/// Starts the service with real mail servers, and with this configuration.
fn start(installation: &Installation, config: &str) -> Node {
    installation.place.write("mute.toml", config);
    let launched = installation.launch_with(&["serve", "--listen", "127.0.0.1:0", "--config", "mute.toml"]);
    launched.listening().unwrap_or_else(|ended| panic!("it ended without listening, after {:?}", ended.seen()))
}

fn list(client: &mut Client, emails: &str) -> String {
    let answer = client.post("/v1/batch-verify", emails, &format!("{{\"emails\":[{emails}]}}")).unwrap();
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn status(client: &mut Client, id: &str) -> Value {
    client.get(&format!("/v1/batch-verify/{id}/status")).unwrap().json()
}

#[test]
#[ignore = "thorough"]
fn a_live_list_waits_for_a_machine_that_can_ask() {
    let installation = Installation::on_sqlite();
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dead = format!("[dns]\nnameservers = [\"{closed}\"]\ntimeout = \"200ms\"\nattempts = 1\n");
    let mute = start(&installation, &dead);
    let (live, test) = (mute.key("Live key"), mute.key("Test key"));
    wait_for("the first checkup", || installation.log().contains("no resolver finds mail servers").then_some(()));
    let held = list(&mut mute.client(&live), "\"valid@sandbox.test\",\"no address\"");
    let free = list(&mut mute.client(&test), "\"valid@sandbox.test\"");
    wait_for("the sandbox", || (status(&mut mute.client(&test), &free)["status"] == "completed").then_some(()));
    let waiting = status(&mut mute.client(&live), &held);
    assert_eq!(waiting["status"], "starting", "{waiting}");
    assert_eq!(installation.log().matches("mail servers cannot be asked").count(), 1, "{}", installation.log());
    mute.kill();

    let mut world = installation.launch_plainly(&["sandbox", "serve", "--dns", "127.0.0.1:0", "--smtp-port", "0"]);
    world.line_with("block_lists");
    let config = world.seen().to_owned();
    let able = start(&installation, &config);
    wait_for("the list", || (status(&mut able.client(&live), &held)["status"] == "completed").then_some(()));
    let done = status(&mut able.client(&live), &held);
    assert_eq!((&done["numPassed"], &done["numUndeliverable"]), (&1.into(), &1.into()), "{done}");
    able.kill();
}
