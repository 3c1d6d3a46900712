//! Rule files: what an operator may write, and how mistakes are told.

use std::sync::Arc;

use probity_mail::{
    classify::{DialogStage, Meaning, Rules},
    smtp::reply::Reply,
};

fn reply(code: u16, text: &str) -> Reply {
    Reply { code, enhanced: None, text: text.to_owned(), nonconforming: false }
}

/// A file with one rule, of which some lines are given.
fn file(lines: &str) -> String {
    format!("format = 2\nversion = 9000\n[[rule]]\nid = \"own.rule\"\nsource = \"ours\"\n{lines}\n")
}

#[test]
fn an_operators_rules_come_first_and_replace_shipped_ones() {
    let own = file("stage = [\"rcpt\"]\ncode = [\"5xx\"]\nany = [\"frobnicated\"]\nmeaning = \"no_such_user\"");
    let rules = Rules::embedded_with(&own).expect("a valid file");
    assert_eq!(rules.version(), 9000);
    let read = |text| rules.read(&reply(550, text), DialogStage::Rcpt, None);
    assert_eq!(read("user frobnicated by policy").rule, Arc::from("own.rule"));
    assert_eq!(read("no such user").meaning, Meaning::NoSuchUser);

    let own = own.replace("own.rule", "rcpt.no_such_user");
    let rules = Rules::embedded_with(&own).expect("a valid file");
    let reading = rules.read(&reply(550, "no such user"), DialogStage::Rcpt, None);
    assert_eq!(reading.meaning, Meaning::Unmatched, "the shipped rule of that id is gone");
}

#[test]
fn a_file_of_its_own_knows_only_its_own_rules() {
    let rules = Rules::parse(&file("enhanced = [\"x.7.*\"]\nmeaning = \"us.policy\"\nwait_s = 60")).expect("valid");
    assert_eq!(rules.ids().collect::<Vec<_>>(), ["own.rule"]);
    let reading = rules.read(&reply(450, "4.7.1 wait"), DialogStage::Mail, Some("nobody"));
    assert_eq!((&*reading.rule, reading.retry_after_ms), ("own.rule", Some(60_000)));
    assert_eq!(rules.read(&reply(550, "no such user"), DialogStage::Rcpt, None).meaning, Meaning::Unmatched);
}

#[test]
fn a_rule_may_demand_that_the_text_says_nothing_else() {
    let own = "stage = [\"rcpt\"]\ncode = [\"5xx\"]\nany = [\"address refused\"]\nonly = [\"mail address refused\", \"address refused\"]";
    let rules = Rules::parse(&file(&format!("{own}\nmeaning = \"no_such_user\""))).expect("a valid file");
    let read = |text| rules.read(&reply(550, text), DialogStage::Rcpt, None).meaning;
    for text in ["address refused", "5.1.1 <a@b.example>: Mail address refused. (#5.1.1)"] {
        assert_eq!(read(text), Meaning::NoSuchUser, "{text}");
    }
    for text in ["address refused: go away", "your address refused", "5.1.1"] {
        assert_eq!(read(text), Meaning::Unmatched, "{text}");
    }
}

#[test]
fn shipped_rules_about_a_recipient_read_whole_texts_only() {
    let file: toml::Table = include_str!("../data/replies.toml").parse().expect("a valid file");
    for rule in file["rule"].as_array().expect("rules") {
        let meaning = rule["meaning"].as_str().and_then(Meaning::from_name).expect("a meaning");
        assert!(meaning.makes_undeliverable().is_none() || rule.get("only").is_some(), "{}", rule["id"]);
    }
}

#[test]
fn providers_are_known_by_every_name_in_any_case() {
    for name in ["google", "Google", "GMAIL", "Google Workspace"] {
        let reading = Rules::embedded().read(
            &reply(550, "5.1.1 https://support.google.com/mail/?p=NoSuchUser"),
            DialogStage::Rcpt,
            Some(name),
        );
        assert_eq!(&*reading.rule, "google.no_such_user", "{name}");
    }
}

/// Lines of a rule, and what its error says.
const MISTAKES: &[(&str, &str)] = &[
    ("any = [\"x\"]\nmeaning = \"no_such_user\"\ncode = [\"5xx\"]", "stage"),
    ("any = [\"x\"]\nmeaning = \"inbox_full\"\nstage = [\"rcpt\"]", "5xx codes only"),
    ("any = [\"x\"]\nmeaning = \"deactivated\"\nstage = [\"rcpt\"]\ncode = [\"550\", \"450\"]", "5xx codes only"),
    ("any = [\"x\"]\nmeaning = \"nonsense\"", "not a meaning"),
    ("any = [\"@nothing\"]\nmeaning = \"exists\"", "no list of phrases"),
    ("any = [\"***\"]\nmeaning = \"exists\"", "nothing to look for"),
    ("code = [\"6xx\"]\nmeaning = \"exists\"", "not a reply code"),
    ("enhanced = [\"5.7\"]\nmeaning = \"exists\"", "not an enhanced code"),
    ("stage = [\"data\"]\nany = [\"x\"]\nmeaning = \"exists\"", "not a stage"),
    ("provider = \"nobody\"\nany = [\"x\"]\nmeaning = \"exists\"", "not in [providers]"),
    ("meaning = \"exists\"", "a phrase to look for"),
    ("any = [\"x\"]\nonly = [\"@nothing\"]\nmeaning = \"exists\"", "no list of phrases"),
];

#[test]
fn mistakes_name_the_rule_and_the_line() {
    for (lines, what) in MISTAKES {
        let error = Rules::parse(&file(lines)).expect_err(lines);
        assert!(error.what.contains(what), "{lines}: {error}");
        assert_eq!((error.rule.as_deref(), error.line), (Some("own.rule"), Some(4)), "{error}");
    }
}

#[test]
fn mistakes_of_a_whole_file_are_told() {
    let twice = format!(
        "{0}[[rule]]{1}",
        file("any = [\"x\"]\nmeaning = \"exists\""),
        "\nid = \"own.rule\"\nsource = \"s\"\nany = [\"y\"]\nmeaning = \"exists\""
    );
    assert!(Rules::parse(&twice).expect_err("twice").to_string().contains("used twice"));
    assert_eq!(Rules::parse("format = 2\nversion = 1\nfoo = 2").expect_err("unknown").line, Some(3));
    assert!(Rules::parse("format = 7\nversion = 1").expect_err("format").what.contains("format 7"));
    assert!(
        Rules::parse(&file("any = [\"<nobody> unknown\"]\nmeaning = \"exists\""))
            .expect_err("words")
            .what
            .contains("nobody")
    );
    let circle = format!("{}[phrases]\na = [\"@b\"]\nb = [\"@a\"]\n", file("any = [\"@a\"]\nmeaning = \"exists\""));
    assert!(Rules::parse(&circle).expect_err("a circle").what.contains("too deeply"));
}
