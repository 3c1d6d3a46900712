//! The members of an organization at the command line, beside a database that nobody serves.

use serde_json::{Value, json};

use super::node::Installation;

/// What a command that may not be done says.
fn refused(installation: &Installation, args: &[&str]) -> String {
    let ran = installation.run(args);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    ran.err
}

#[test]
fn members_are_invited_paused_and_removed() {
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let owner = installation.ask(&["users", "list", "--json"]);
    assert_eq!((&owner["is_primary"], &owner["status"]), (&json!(true), &json!("active")));
    let invited = installation.ask(&["users", "invite", "Ann@example.com", "--name", "Ann", "--json"]);
    assert!(invited["url"].as_str().unwrap().contains("/#/link/"), "{invited}");
    let again = installation.ask(&["users", "invite", "ann@example.com", "--role", "administrator", "--json"]);
    assert!(again["user"] == invited["user"] && again["url"] != invited["url"], "{again}");
    let id = invited["user"].as_str().unwrap();
    let listed = installation.run(&["users", "list", "--json"]);
    let members: Vec<Value> = listed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (members.len(), &members[0]["email"], &members[0]["role"]),
        (2, &json!("Ann@example.com"), &json!("administrator"))
    );

    let owner = owner["id"].as_str().unwrap();
    assert!(refused(&installation, &["users", "pause", id]).contains("becomes active by accepting"));
    assert!(refused(&installation, &["users", "remove", owner]).contains("the primary user"));
    assert!(refused(&installation, &["users", "invite", "nonsense"]).contains("the address is none"));
    assert!(refused(&installation, &["users", "remove", "nobody@example.com"]).contains("there is nobody"));
    let removed = installation.ask(&["users", "remove", "ANN@example.com", "--json"]);
    assert_eq!(removed["id"], id);
    assert_eq!(installation.ask(&["users", "list", "--json"])["id"], owner);
}
