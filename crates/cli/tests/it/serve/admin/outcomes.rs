//! Outcomes of sent mail on the command line: logs, mailboxes and tables, with a database that no service uses.

use std::fs;

use serde_json::{Value, json};

use crate::serve::bench::node::Installation;

const BOUNCE: &str = "Return-Path: <>\nFrom: MAILER-DAEMON@mx.example.com\nSubject: failure notice\n\n<joe@example.net>:\n\
                      192.0.2.7 does not like recipient.\nRemote host said: 550 5.1.1 no such user\n";

/// Returns a log line of a delivery or a bounce.
fn log(n: u32, status: &str) -> String {
    format!(
        "2026-11-20T10:00:01+00:00 mx postfix/smtp[7]: 4F{n}: to=<u{n}@example.org>, relay=mx.example.org[192.0.2.7]:25, \
         dsn=2.0.0, status={status}\n"
    )
}

fn import(installation: &Installation, path: &str) -> Value {
    let mut answer = installation.ask(&["outcomes", "import", path, "--json"]);
    answer.as_object_mut().unwrap().remove("organization").unwrap();
    answer
}

#[test]
#[ignore = "thorough"]
fn logs_mailboxes_and_tables_are_imported_once() {
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let sum = |files, submitted, added, bounced| {
        json!({
            "files": files, "submitted": submitted, "added": added, "repeated": submitted - added, "invalid": 0, "expired": 0,
            "softened": 0, "suppressed": {"bounced": bounced, "complained": 0},
        })
    };

    // More than one report accepts.
    let mut lines: String = (0..12_000).map(|n| log(n, "sent (250 2.0.0 Ok)")).collect();
    lines += &log(20_000, "bounced (host mx[192.0.2.7] said: 550 5.1.1 User unknown (in reply to RCPT TO command))");
    lines += &log(20_001, "bounced (host mx[192.0.2.7] said: 550 5.7.1 spam (in reply to end of DATA command))");
    lines += "2026-11-20T10:00:01+00:00 mx postfix/qmgr[7]: 4F: removed\n";
    fs::write(path("mail.log"), lines).unwrap();
    assert_eq!(import(&installation, &path("mail.log")), sum(1, 12_002, 12_002, 1));
    assert_eq!(import(&installation, &path("mail.log")), sum(1, 12_002, 0, 0));

    let mailbox =
        format!("From MAILER-DAEMON Mon\n{BOUNCE}\nFrom ann Tue\nSubject: hello\n\n<bob@example.net>:\nhow are you\n");
    fs::write(path("mailbox"), mailbox).unwrap();
    assert_eq!(import(&installation, &path("mailbox")), sum(1, 1, 1, 1));
    for folder in ["Maildir/cur", "Maildir/new", "Maildir/tmp"] {
        fs::create_dir_all(path(folder)).unwrap();
    }
    fs::write(path("Maildir/new/1.mx"), BOUNCE.replace("joe@", "jane@")).unwrap();
    fs::write(path("Maildir/cur/2.mx:2,S"), BOUNCE).unwrap();
    fs::write(path("Maildir/tmp/3.mx"), BOUNCE.replace("joe@", "eve@")).unwrap();
    assert_eq!(import(&installation, &path("Maildir")), sum(2, 2, 1, 1));

    fs::create_dir(path("tables")).unwrap();
    fs::write(path("tables/a.csv"), "E-Mail;outcome\nx@example.org;hard_bounce\n").unwrap();
    fs::write(path("tables/b.ndjson"), "{\"email\":\"y@example.org\",\"outcome\":\"hard_bounce\"}\n").unwrap();
    assert_eq!(import(&installation, &path("tables")), sum(2, 2, 2, 2));
    let found = installation.run(&["suppressions", "find", "JANE@example.net", "--json"]);
    assert!(found.out.contains(r#""list":"bounced""#) && found.out.contains(r#""listed":true"#), "{}", found.out);
}

#[test]
#[ignore = "thorough"]
fn sources_are_added_listed_and_removed() {
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key.txt");
    fs::write(&key, "key-3ax6xnjp29jd6fds4gc373sgvjxteol0\n").unwrap();
    let key = key.to_str().unwrap();
    let add = ["outcomes", "sources", "add", "News", "--service", "mailgun"];
    let refused = installation.run(&add);
    assert!(refused.code != Some(0) && refused.err.contains("--signing-key"), "{}", refused.err);
    let made = installation.run(&[&add[..], &["--signing-key", key]].concat());
    assert!(made.out.contains("/hooks/outcomes/osr_") && !made.out.contains("3ax6"), "{} {}", made.out, made.err);
    let of_test_keys = ["outcomes", "sources", "add", "Trial", "--service", "postmark", "--test", "--json"];
    let trial = installation.ask(&of_test_keys);
    assert_eq!((&trial["test"], &trial["service"]), (&json!(true), &json!("postmark")));
    let listed = installation.run(&["outcomes", "sources", "list"]).out;
    let has = |listed: &str| {
        ["News", "mailgun", "\"test\":false", "Trial", "\"test\":true"].map(|text| listed.contains(text))
    };
    assert_eq!(has(&listed), [true; 5], "{listed}");
    assert!(!listed.contains("/hooks/"), "{listed}");
    let id = trial["id"].as_str().unwrap();
    assert!(installation.run(&["outcomes", "sources", "remove", id]).out.contains(r#""deleted":true"#));
    let again = installation.run(&["outcomes", "sources", "remove", id]);
    assert!(again.code != Some(0) && again.err.contains("sources list"), "{}", again.err);
    let left = installation.run(&["outcomes", "sources", "list"]).out;
    assert_eq!(has(&left), [true, true, true, false, false], "{left}");
}

#[test]
#[ignore = "thorough"]
fn what_cannot_be_read_is_named_without_its_content() {
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("a.csv"), "email,outcome\njoe@example.net,lost\n").unwrap();
    fs::write(path("a.ndjson"), "\n{\"email\":\"joe@example.net\",\"outcome\":\"lost\"}\n").unwrap();
    fs::write(path("a.gz"), b"\x1f\x8b\x08").unwrap();
    fs::create_dir(path("empty")).unwrap();
    let table = [
        ("a.csv", "row 1: outcome: must be one of"),
        ("a.ndjson", "line 2: outcome: must be one of"),
        ("a.gz", "compressed"),
        ("empty", "has no files"),
        ("missing", "cannot read"),
    ];
    for (name, expected) in table {
        let ran = installation.run(&["outcomes", "import", &path(name)]);
        assert!(ran.code != Some(0) && ran.err.contains(expected), "{name}: {}", ran.err);
        assert!(!ran.err.contains("joe@"), "{}", ran.err);
    }
}
