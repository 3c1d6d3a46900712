//! Users of an organization, on the command line, with a database that no service uses.

use serde_json::{Value, json};

use crate::serve::bench::client::Client;
use crate::serve::bench::node::Installation;
use crate::serve::uploading::Person;

/// Returns the error of a refused command.
fn refused(installation: &Installation, args: &[&str]) -> String {
    let ran = installation.run(args);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    ran.err
}

#[test]
#[ignore = "thorough"]
fn members_are_invited_paused_and_removed() {
    let installation = Installation::on_sqlite();
    let node = installation.start();
    let address = node.address;
    node.stop();
    let owner = installation.ask(&["users", "list", "--json"]);
    assert_eq!((&owner["is_primary"], &owner["status"]), (&json!(true), &json!("active")));
    let invited = installation.ask(&["users", "invite", "Ann@example.com", "--name", "Ann", "--json"]);
    // The system chose the port.
    assert!(invited["url"].as_str().unwrap().starts_with(&format!("http://{address}/#/link/")), "{invited}");
    let public = [
        "users",
        "reset-link",
        owner["id"].as_str().unwrap(),
        "--json",
        "--set",
        "server.public_url=https://v.example",
    ];
    assert!(installation.ask(&public)["url"].as_str().unwrap().starts_with("https://v.example/#/link/"));
    let again = installation.ask(&["users", "invite", "ann@example.com", "--role", "administrator", "--json"]);
    assert!(again["user"] == invited["user"] && again["url"] != invited["url"], "{again}");
    let id = invited["user"].as_str().unwrap();
    let listed = installation.run(&["users", "list", "--json"]);
    let members: Vec<Value> = listed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (members.len(), &members[0]["email"], &members[0]["role"]),
        (2, &json!("Ann@example.com"), &json!("administrator"))
    );

    let changed = installation.ask(&["users", "role", id, "contributor", "--json"]);
    assert_eq!((&changed["id"], &changed["role"]), (&json!(id), &json!("contributor")), "{changed}");
    let owner = owner["id"].as_str().unwrap();
    assert!(refused(&installation, &["users", "role", owner, "contributor"]).contains("the owner"));
    assert!(refused(&installation, &["users", "pause", id]).contains("becomes active by accepting"));
    assert!(refused(&installation, &["users", "remove", owner]).contains("the owner"));
    assert!(refused(&installation, &["users", "invite", "nonsense"]).contains("must be an email address"));
    assert!(refused(&installation, &["users", "remove", "nobody@example.com"]).contains("there is no member"));
    for (said, known) in
        [("verified", json!("verified")), ("requires-input", json!("requires_input")), ("unknown", json!(null))]
    {
        let shown = installation.ask(&["users", "identity", "ANN@example.com", said, "--json"]);
        assert_eq!((&shown["id"], &shown["identity_verified"]), (&json!(id), &known), "{shown}");
    }
    assert!(
        refused(&installation, &["users", "identity", "nobody@example.com", "verified"]).contains("there is no member")
    );
    let removed = installation.ask(&["users", "remove", "ANN@example.com", "--json"]);
    assert_eq!((&removed["id"], &removed["deleted"]), (&json!(id), &json!(true)), "{removed}");
    assert_eq!((&removed["email"], &removed["name"]), (&json!("Ann@example.com"), &json!("Ann")), "{removed}");
    assert_eq!(installation.ask(&["users", "list", "--json"])["id"], owner);
}

#[test]
#[ignore = "thorough"]
fn sessions_are_listed_and_ended() {
    let installation = Installation::on_sqlite();
    let node = installation.start();
    let person = Person::of(&node);
    let owner = installation.ask(&["users", "list", "--json"])["id"].as_str().unwrap().to_owned();
    let session = installation.ask(&["users", "sessions", &owner, "--json"]);
    assert_eq!(session["user"], owner, "{session}");
    assert_eq!(person.get(&node, "/app/session").status, 200);
    let other = ["users", "sign-out", &owner, "--session", "ses_01h455vb4pex5vsknk084sn02q"];
    assert!(refused(&installation, &other).contains("no such session"));
    let ended =
        installation.ask(&["users", "sign-out", &owner, "--session", session["id"].as_str().unwrap(), "--json"]);
    assert_eq!(ended, json!({ "user": owner, "deleted": 1 }));
    assert_eq!(person.get(&node, "/app/session").status, 401, "the session is over at once");
    assert_eq!(installation.ask(&["users", "sign-out", &owner, "--json"])["deleted"], 0);
    let event = installation.ask(&["timeline", "--limit", "1", "--json"]);
    assert_eq!((&event["kind"], &event["actor"]), (&json!("sessions_revoked"), &json!({ "type": "staff" })), "{event}");
    node.stop();
}

#[test]
#[ignore = "thorough"]
fn plans_are_the_same_at_the_command_line_and_over_the_operators_api() {
    const KEY: &str = "an operator's key of more than 32 characters";
    let installation = Installation::on_sqlite().counted(5).set(&[&format!("admin.key={KEY}")]);
    let node = installation.start();
    let answer = Client::new(node.address, KEY).exchange("GET", "/admin/v1/plans", "", "").unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    let printed = installation.run(&["plans", "--json"]);
    let printed: Vec<Value> = printed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!printed.is_empty());
    assert_eq!(json!(printed), answer.json()["data"]);
    node.stop();
}
