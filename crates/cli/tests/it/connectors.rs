//! `probity connectors`.

use crate::program::Place;

/// A connector that is right.
const ACME: &str = r#"
[provider]
slug = "acme"
name = "Acme Mail"
checked = "2026-11-22, nowhere"
docs = "https://example.org"
confidence = "low"
[[credential]]
name = "key"
label = "Key"
kind = "secret"
[http]
base = "https://api.example.org"
headers = { Key = "{credential.key}" }
[test]
request = { get = "/me" }
[actions.delete]
scope = "account"
request = { delete = "/contacts/{contact.id}" }
"#;

#[test]
fn a_file_is_checked_and_listed() {
    let place = Place::with("acme.toml", ACME);
    let ran = place.run(&["connectors", "check", "acme.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("a connector for Acme Mail") && ran.out.contains("actions.fix"), "{ran:?}");
    let ran = place.run(&["connectors", "list", "--directory", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Acme Mail (beta): delete") && ran.out.contains("Mailchimp: lists"), "{ran:?}");
    let configured = place.run(&["--set", "integrations.directory=.", "connectors", "list"]);
    assert_eq!(configured.out, ran.out);
    assert!(!place.run(&["connectors", "list"]).out.contains("Acme"));
}

#[test]
fn a_wrong_file_or_host_stops_the_service() {
    let place = Place::with("acme.toml", ACME.replace("\"/me\"", "\"me\""));
    let start = |set: &str| place.run(&["--set", set, "serve", "--data", "data", "--sandbox"]);
    let ran = start("integrations.directory=.");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("acme.toml:16: test.request.get: a path begins with /"), "{ran:?}");
    let ran = start("integrations.allow=listmonk.lan");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("\"listmonk.lan\" is not a host with its port such as"), "{ran:?}");
}

#[test]
fn an_own_file_replaces_a_built_in_one() {
    let place = Place::with("brevo.toml", ACME.replace("\"acme\"", "\"brevo\""));
    assert!(place.run(&["connectors", "check", "brevo.toml"]).out.contains("replaces the built-in connector"));
    let ran = place.run(&["connectors", "list", "--directory", "."]);
    assert!(ran.out.contains("brevo              Acme Mail (beta): delete") && !ran.out.contains("Brevo"), "{ran:?}");
}

#[test]
fn every_fault_of_a_file_is_shown_with_its_place() {
    let wrong = ACME.replace("{contact.id}", "{list.id}").replace("\"/me\"", "\"me\"");
    let place = Place::with("acme.toml", wrong);
    let ran = place.run(&["connectors", "check", "acme.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("acme.toml:16: test.request.get: a path begins with /"), "{ran:?}");
    assert!(ran.err.contains("acme.toml:19: actions.delete.request.delete: {list.id} has no value here"), "{ran:?}");
    assert_eq!(place.run(&["connectors", "check", "missing.toml"]).code, Some(2));
}
