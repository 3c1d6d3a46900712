//! `probity connectors`.

use crate::program::Place;

/// Valid connector.
const SMALL: &str = concat!(
    include_str!("../../../connectors/tests/small.toml"),
    r#"[actions.delete]
scope = "account"
request = { delete = "/contacts/{contact.id}" }
"#
);

#[test]
fn a_file_is_checked_and_listed() {
    let place = Place::with("small.toml", SMALL);
    let ran = place.run(&["connectors", "check", "small.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("a connector for Small") && ran.out.contains("actions.fix"), "{ran:?}");
    let ran = place.run(&["connectors", "list", "--directory", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Small (beta): delete") && ran.out.contains("Mailchimp: lists"), "{ran:?}");
    let configured = place.run(&["--set", "integrations.directory=.", "connectors", "list"]);
    assert_eq!(configured.out, ran.out);
    assert!(!place.run(&["connectors", "list"]).out.contains("Small"));
}

#[test]
fn a_wrong_file_or_host_stops_the_service() {
    let place = Place::with("small.toml", SMALL.replace("\"/me\"", "\"me\""));
    let start = |set: &str| place.run(&["--set", set, "serve", "--data", "data", "--sandbox"]);
    let ran = start("integrations.directory=.");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("small.toml:20: test.request.get: a path begins with /"), "{ran:?}");
    let ran = start("integrations.allow=listmonk.lan");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("\"listmonk.lan\" is not a host with its port such as"), "{ran:?}");
}

#[test]
fn an_own_file_replaces_a_built_in_one() {
    let place = Place::with("brevo.toml", SMALL.replace("\"small\"", "\"brevo\""));
    assert!(place.run(&["connectors", "check", "brevo.toml"]).out.contains("replaces the built-in connector"));
    let ran = place.run(&["connectors", "list", "--directory", "."]);
    assert!(ran.out.contains("brevo              Small (beta): delete") && !ran.out.contains("Brevo"), "{ran:?}");
}

#[test]
fn every_fault_of_a_file_is_shown_with_its_place() {
    let wrong = SMALL.replace("{contact.id}", "{list.id}").replace("\"/me\"", "\"me\"");
    let place = Place::with("small.toml", wrong);
    let ran = place.run(&["connectors", "check", "small.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("small.toml:20: test.request.get: a path begins with /"), "{ran:?}");
    assert!(ran.err.contains("small.toml:23: actions.delete.request.delete: {list.id} has no value here"), "{ran:?}");
    assert_eq!(place.run(&["connectors", "check", "missing.toml"]).code, Some(2));
}
