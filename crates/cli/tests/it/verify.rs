//! `probity verify`.

use serde_json::Value;

use crate::program::Place;

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_sandbox_gives_each_outcome_in_the_order_of_the_arguments() {
    let table = [
        ("valid@sandbox.test", "passed", "valid"),
        ("nobody@sandbox.test", "undeliverable", "nonexistent"),
        ("deactivated@sandbox.test", "undeliverable", "deactivated"),
        ("inbox_full@sandbox.test", "undeliverable", "inbox_full"),
        ("spam@sandbox.test", "risky", "spam"),
        ("complained@sandbox.test", "risky", "complained"),
        ("info@sandbox.test", "risky", "role_based"),
        ("a@null-mx.sandbox.test", "undeliverable", "illegitimate"),
        ("a@private.sandbox.test", "undeliverable", "illegitimate"),
        ("failed_exchange@sandbox.test", "unknown", "failed_exchange"),
        ("unverified@sandbox.test", "unknown", "unverified"),
        ("no address", "undeliverable", "invalid"),
    ];
    let mut args = vec!["verify", "--sandbox"];
    args.extend(table.iter().map(|(email, ..)| *email));
    let ran = Place::new().run(&args);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for (line, (email, status, reason)) in lines(&ran.out).iter().zip(table) {
        assert_eq!((line["email"].as_str(), line["status"].as_str()), (Some(email), Some(status)), "{line}");
        assert_eq!(line["reason"], reason, "{line}");
        assert_eq!(line["passed"], status == "passed");
        assert!(line.get("evidence").is_none());
    }
    assert_eq!(lines(&ran.out).len(), table.len());
}

#[test]
fn exit_codes_tell_what_came_out() {
    let place = Place::new();
    let code = |args: &[&str]| place.run(&[&["verify", "--sandbox"], args].concat()).code;
    assert_eq!(code(&["valid@sandbox.test"]), Some(0));
    assert_eq!(code(&["valid@sandbox.test", "nobody@sandbox.test", "unverified@sandbox.test"]), Some(1));
    assert_eq!(code(&["valid@sandbox.test", "unverified@sandbox.test"]), Some(3));
    assert_eq!(code(&[]), Some(2));
    assert_eq!(code(&["a@sandbox.test", "--timeout", "0"]), Some(2));
    assert_eq!(code(&["a@sandbox.test", "--frobnicate"]), Some(2));
}

#[test]
fn explain_brings_the_evidence_with_every_part_present() {
    let ran = Place::new().run(&["verify", "--sandbox", "--explain", "valid@sandbox.test", "x", "spam@sandbox.test"]);
    for line in lines(&ran.out) {
        let evidence = line["evidence"].as_object().unwrap();
        for part in ["findings", "domain", "probe", "timings_ms", "source", "age_s"] {
            assert!(evidence.contains_key(part), "{part}");
        }
    }
    let first = &lines(&ran.out)[0]["evidence"];
    assert_eq!(first["source"], "smtp");
    assert_eq!(first["probe"]["code"], 250);
    let second = &lines(&ran.out)[1]["evidence"];
    assert!(second["probe"].is_null() && second["domain"].is_null());
    assert_eq!(second["findings"][0]["reason"], "invalid");
}

#[test]
fn offline_uses_no_network_and_says_so() {
    let ran = Place::new().run(&["verify", "--offline", "a@example.com", "a@@b"]);
    let lines = lines(&ran.out);
    assert_eq!((&lines[0]["reason"], &lines[0]["meta"]), (&"unverified".into(), &"not_probed".into()));
    assert_eq!(lines[1]["reason"], "invalid");
    assert!(ran.err.is_empty(), "{}", ran.err);
}

#[test]
fn a_machine_without_names_says_so_once() {
    // Port 9 of this machine, which has no listener.
    let dead = ["--set", "dns.nameservers=127.0.0.1:9", "--set", "dns.timeout=200ms", "--set", "dns.attempts=1"];
    let ran = Place::new().run(&[&dead[..], &["verify", "a@example.org", "b@example.net"]].concat());
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(ran.err.matches("No name could be looked up").count(), 1, "{}", ran.err);
    assert!(lines(&ran.out).iter().all(|line| line["meta"] == "dns_temporary"), "{}", ran.out);
}

#[test]
fn addresses_come_from_standard_input_too() {
    let ran = Place::new().feed(&["verify", "--sandbox", "-"], b"valid@sandbox.test\r\n\nspam@sandbox.test");
    assert_eq!(lines(&ran.out).len(), 2);
    assert_eq!(ran.code, Some(1));
}

#[test]
fn what_is_hostile_stays_text() {
    let ran = Place::new().run(&["verify", "--offline", "a\u{1b}[2J\r\n@example.com"]);
    assert!(!ran.out.contains('\u{1b}'));
    assert_eq!(ran.out.lines().count(), 1);
}

#[test]
fn without_names_nothing_could_be_asked() {
    // Port 9 of this machine, which has no listener.
    let ran = Place::new().run(&["verify", "--set", "dns.nameservers=127.0.0.1:9", "a@example.com", "b@example.net"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("No name could be looked up"), "{}", ran.err);
    assert!(lines(&ran.out).iter().all(|line| line["status"] == "unknown"), "{}", ran.out);
}

#[test]
fn a_name_of_the_sandbox_is_said_to_be_one_where_real_servers_are_asked() {
    let place = Place::new();
    for (args, said) in [
        (["verify", "--offline", "valid@sandbox.test"], true),
        (["verify", "--offline", "valid@catchall.sandbox.test"], true),
        (["verify", "--offline", "valid@other.test"], false),
        (["verify", "--sandbox", "valid@sandbox.test"], false),
    ] {
        let ran = place.run(&args);
        assert_eq!(ran.err.contains("probity verify --sandbox"), said, "{args:?}: {ran:?}");
    }
}
