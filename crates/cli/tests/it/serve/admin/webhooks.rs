//! Webhooks on the command line, beside a service that makes the deliveries.

use serde_json::{Value, json};

use crate::serve::bench::node::{Installation, wait_for};

/// Returns the error of a refused command.
fn refused(installation: &Installation, args: &[&str]) -> String {
    let ran = installation.run(args);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    ran.err
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name}: {value}"))
}

#[test]
#[ignore = "thorough"]
fn webhooks_are_made_tried_paused_and_removed_beside_a_service() {
    let installation = Installation::on_sqlite();
    let node = installation.start();
    let key = node.key("Live key");
    let create = ["webhooks", "create", "https://192.0.2.1/hook", "--event", "job.finished", "--name"];
    assert!(refused(&installation, &[&create[..], &["CRM"]].concat()).contains("must not lead to a private"));
    // A name that does not exist: the service attempts the delivery, and reports a connection failure.
    let create = ["webhooks", "create", "https://hooks.invalid/a#b", "--event", "job.finished", "--name"];
    assert!(refused(&installation, &[&create[..], &["a\u{202e}b"]].concat()).contains("name"));
    let made = installation.ask(&[&create[..], &["CRM", "--json"]].concat());
    assert_eq!((text(&made, "url"), text(&made, "status")), ("https://hooks.invalid/a", "active"));
    assert!(text(&made, "secret").starts_with("whsec_"), "{made}");
    let id = text(&made, "id");

    let mut client = node.client(&key);
    let mut shown = || client.get(&format!("/v1/webhooks/{id}")).unwrap();
    assert_eq!(shown().json()["status"], "active", "the API has it");
    let sent = installation.ask(&["webhooks", "test", id, "--json"]);
    assert_eq!((&sent["webhook"], &sent["kind"], &sent["url"]), (&json!(id), &json!("test"), &made["url"]), "{sent}");
    let tried = wait_for("the attempt", || {
        let one = installation.ask(&["deliveries", "show", text(&sent, "id"), "--json"]);
        (one["attempts"] == 1).then_some(one)
    });
    assert_eq!((&tried["webhook"], &tried["kind"], &tried["last_status"]), (&json!(id), &json!("test"), &json!(null)));

    let paused = installation.ask(&["webhooks", "pause", id, "--json"]);
    assert_eq!((&paused["status"], &shown().json()["status"]), (&json!("disabled"), &json!("disabled")));
    assert_eq!(paused["test"], false, "{paused}");
    assert_eq!(installation.ask(&["webhooks", "resume", id, "--json"])["status"], "active");
    let rotated = installation.ask(&["webhooks", "rotate", id, "--json"]);
    assert!(rotated["secret"] != made["secret"] && rotated["previous_until"].is_string(), "{rotated}");
    assert_eq!((&rotated["id"], &rotated["name"], &rotated["url"]), (&made["id"], &made["name"], &made["url"]));
    assert_eq!(installation.ask(&["webhooks", "list", "--json"])["id"], id);
    let removed = installation.ask(&["webhooks", "remove", id, "--json"]);
    assert_eq!((&removed["id"], &removed["url"], &removed["deleted"]), (&json!(id), &made["url"], &json!(true)));
    assert_eq!(shown().status, 404);
    assert!(refused(&installation, &["webhooks", "pause", id]).contains("there is no webhook"));
    node.stop();
}
