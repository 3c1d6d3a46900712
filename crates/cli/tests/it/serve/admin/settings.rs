//! Settings of an organization, on the command line.

use probity_trialdb::postgres;
use serde_json::{Value, json};

use crate::serve::bench::node::{Installation, wait_for};

#[test]
#[ignore = "thorough"]
fn settings_are_shown_tried_and_changed() {
    shown_tried_and_changed(&Installation::on_sqlite());
}

#[test]
#[ignore = "thorough"]
fn settings_are_shown_tried_and_changed_on_postgresql() {
    let Some(cluster) = postgres() else { return };
    shown_tried_and_changed(&Installation::on(cluster.create_database()));
}

fn shown_tried_and_changed(installation: &Installation) {
    let node = installation.start();
    let file = installation.place.path("list.txt");
    std::fs::write(&file, "valid@sandbox.test\ninfo@sandbox.test\n").unwrap();
    let untried = installation.ask(&["settings", "try", "--ignored-reasons", "role_based", "--json"]);
    assert_eq!(untried, json!({ "job": null }));
    let job = installation.ask(&["lists", "add", file.to_str().unwrap(), "--json"])["id"].as_str().unwrap().to_owned();
    wait_for("the list", || Some(()).filter(|()| installation.ask(&["lists", "show", &job, "--json"])["over"] == true));
    node.stop();

    let tried = installation.ask(&["settings", "try", "--ignored-reasons", "role_based", "--json"]);
    let (before, after) = (&tried["job"]["before"]["reasons"], &tried["job"]["after"]["reasons"]);
    assert_eq!((&before["role_based"], &after["role_based"], &after["valid"]), (&json!(1), &Value::Null, &json!(2)));
    assert_eq!(tried["job"]["changed"], 1, "{tried}");
    let standing = installation.ask(&["settings", "show", "--json"]);
    assert_eq!((&standing["ignored_reasons"], &standing["retention_days"]), (&json!([]), &json!(null)), "{standing}");

    let set = ["settings", "set", "--ignored-reasons", "role_based", "--banned-words", "casino, spam", "--json"];
    let changed = installation.ask(&[&set[..], &["--retention-days", "90", "--delivery-retention-days", "7"]].concat());
    assert_eq!(changed["delivery_retention_days"], 7);
    assert_eq!(
        (&changed["ignored_reasons"], &changed["banned_words"]),
        (&json!(["role_based"]), &json!(["casino", "spam"]))
    );
    assert_eq!(changed["retention_days"], 90);
    let cleared = ["settings", "set", "--banned-words", "", "--retention-days", "default", "--json"];
    let cleared = installation.ask(&cleared);
    assert_eq!((&cleared["banned_words"], &cleared["retention_days"]), (&json!([]), &json!(null)));
    assert_eq!(cleared["ignored_reasons"], json!(["role_based"]), "what was not named stays");

    let longer = installation.run(&["settings", "set", "--delivery-retention-days", "31"]);
    let bounds = "--delivery-retention-days: must be a whole number from 1 to 30, or `default`";
    assert_eq!((longer.code, longer.err.contains(bounds)), (Some(2), true), "{}", longer.err);
    let refused = installation.run(&["settings", "set", "--ignored-reasons", "bad_luck"]);
    assert_eq!((refused.code, refused.err.contains("role_based")), (Some(2), true), "{}", refused.err);
    assert!(refused.err.contains("--ignored-reasons: "), "{}", refused.err);
    let summary = installation.ask(&["timeline", "--summary", "--json"]);
    assert_eq!(summary["summary"]["jobs_by_trigger"], json!({ "staff": 1 }), "{summary}");
    assert!(summary["summary"]["settings_changes"].as_u64().unwrap() >= 5, "{summary}");
}

#[test]
#[ignore = "thorough"]
fn a_refusal_names_the_flag_that_was_typed() {
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let connection = "conn_01h455vb4pex5vsknk084sn02q";
    for (line, why) in [
        ("usage report --connection zz", "--connection: "),
        (&format!("usage report --connection {connection} --period lifetime"), "--connection: cannot be combined"),
        (&format!("usage daily --connection {connection}"), "--connection: "),
        ("keys create --expires 2001-01-01", "--expires: must be in the future"),
        ("keys create --kind rk", "--scope: must have at least 1 scope"),
        ("keys create --origin https://shop.example.com", "--origin: is only for keys of kind `pub`"),
        ("credits grant --amount 5 --until 30d", "--until: is only for subscription credits"),
        ("credits grant --amount 5 --bucket subscription --until 2001-01-01", "--until: must be in the future"),
        ("webhooks create nowhere --name A --event job.finished", "URL: "),
        ("users invite nobody", "EMAIL: must be an email address"),
        ("suppressions find ", "ADDRESS: "),
    ] {
        let ran = installation.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.code, ran.err.contains(why)), (Some(2), true), "{line}: {}", ran.err);
    }
}
