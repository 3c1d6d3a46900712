//! Suppression lists on the command line, with a database that no service uses.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::serve::bench::node::Installation;

#[test]
#[ignore = "thorough"]
fn addresses_are_listed_counted_and_removed() {
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let ask = |args: &[&str]| installation.ask(&[&["suppressions"], args, &["--json"]].concat());
    let added = ask(&["add", "bounced", "jo@example.org", "Jo@EXAMPLE.org", "no address", "ann@example.org"]);
    assert_eq!((&added["added"], &added["invalid"], &added["count"]), (&json!(2), &json!(1), &json!(2)), "{added}");
    let again = ask(&["add", "bounced", "jo@example.org"]);
    assert_eq!((&again["added"], &again["count"]), (&json!(0), &json!(2)));

    let counted = installation.run(&["suppressions", "count", "--json"]);
    let counts: Vec<serde_json::Value> = counted.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counts: Vec<_> = counts.iter().map(|one| (one["list"].as_str().unwrap(), one["count"].as_i64())).collect();
    assert_eq!(counts, [("spam", Some(0)), ("complained", Some(0)), ("bounced", Some(2))]);
    assert!(!counted.out.contains('@'), "{}", counted.out);

    let found = installation.run(&["suppressions", "find", "JO@example.org", "--json"]);
    let found: Vec<serde_json::Value> = found.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let listed: Vec<_> = found.iter().map(|one| (one["list"].as_str().unwrap(), &one["lookup"]["listed"])).collect();
    assert_eq!(listed, [("spam", &json!(false)), ("complained", &json!(false)), ("bounced", &json!(true))]);

    let removed = ask(&["remove", "bounced", "JO@example.org", "nobody@example.org", "no address"]);
    assert_eq!((&removed["removed"], &removed["invalid"], &removed["count"]), (&json!(1), &json!(1), &json!(1)));
    assert!(changed_at(&installation, "bounced").is_string(), "an address is left");
    let cleared = ask(&["remove", "bounced", "--all"]);
    assert_eq!((&cleared["removed"], &cleared["invalid"], &cleared["count"]), (&json!(1), &json!(0), &json!(0)));
    assert!(changed_at(&installation, "bounced").is_null(), "an empty list has no last change");
}

/// Time of a list's last change, as `suppressions count` shows it.
fn changed_at(installation: &Installation, list: &str) -> Value {
    let counted = installation.run(&["suppressions", "count", "--json"]);
    let mut lists = counted.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = lists.find(|one| one["list"] == list).unwrap();
    found.as_object().unwrap()["changed_at"].clone()
}

#[test]
#[ignore = "thorough"]
fn a_list_may_come_on_standard_input() {
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let mut command = installation.command(&["suppressions", "add", "complained", "-", "--json"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for n in 0..30_000 {
        writeln!(input, "a{n}@example.org\r").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let added: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&added["added"], &added["invalid"], &added["count"]), (&json!(30_000), &json!(0), &json!(30_000)));
}
