//! The table of `data/replies.txt`, and what must hold for every reply around it.

use std::{collections::BTreeSet, fmt::Write};

use probity_core::{
    classify::{AboutUs, Meaning, Rules, Stage},
    smtp::reply::{Enhanced, Reply},
};
use proptest::prelude::*;

const TABLE: &str = include_str!("data/replies.txt");
const ADDRESS: &str = "joe.doe@example.net";

/// One line of the table.
#[derive(Clone, Debug)]
struct Case {
    line: usize,
    meaning: Meaning,
    stage: Stage,
    provider: Option<String>,
    reply: Reply,
    /// Any meaning of the same kind will do: undeliverable or not.
    any: bool,
    wait_s: Option<i64>,
}

fn cases() -> Vec<Case> {
    let (mut cases, mut meaning) = (Vec::new(), None);
    for (number, line) in (1..).zip(TABLE.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => meaning = Some(meaning_of(name)),
            None => cases.push(case(number, line, meaning.expect("a section comes first"))),
        }
    }
    cases
}

fn case(line: usize, text: &str, meaning: Meaning) -> Case {
    let (text, notes) = text.split_once(" ## ").unwrap_or((text, ""));
    let mut words = text.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (stage, provider, code) = (word(), word(), word());
    Case {
        line,
        meaning,
        stage: stage_of(stage),
        provider: Some(provider.to_owned()).filter(|name| name != "-"),
        reply: reply(&code[..3], word()),
        any: notes == "any",
        wait_s: notes.strip_prefix("wait=").map(|wait| wait.parse().expect("seconds")),
    }
}

fn reply(code: &str, rest: &str) -> Reply {
    let rest = rest.replace("{a}", ADDRESS).replace("{ip}", "192.0.2.25");
    let (first, tail) = rest.split_once(' ').unwrap_or((&rest, ""));
    let enhanced = enhanced(first);
    let text = if enhanced.is_some() { tail.to_owned() } else { rest.clone() };
    Reply { code: code.parse().expect("a code"), enhanced, text, nonconforming: false }
}

fn enhanced(word: &str) -> Option<Enhanced> {
    let numbers: Vec<u16> = word.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match numbers[..] {
        [class @ (2 | 4 | 5), subject, detail] => Some(Enhanced { class: u8::try_from(class).ok()?, subject, detail }),
        _ => None,
    }
}

fn stage_of(name: &str) -> Stage {
    match name {
        "connect" => Stage::Connect,
        "ehlo" => Stage::Ehlo,
        "starttls" => Stage::StartTls,
        "mail" => Stage::Mail,
        "rcpt" => Stage::Rcpt,
        _ => panic!("no stage is called {name}"),
    }
}

fn meaning_of(name: &str) -> Meaning {
    match name {
        "accepted" => Meaning::Accepted,
        "exists" => Meaning::Exists,
        "no_such_user" => Meaning::NoSuchUser,
        "deactivated" => Meaning::Deactivated,
        "inbox_full" => Meaning::InboxFull,
        "quota_temporary" => Meaning::QuotaTemporary,
        "restricted" => Meaning::Restricted,
        "cannot_verify" => Meaning::CannotVerify,
        "greylisted" => Meaning::Greylisted,
        "in_progress" => Meaning::InProgress,
        "access_denied" => Meaning::AccessDenied,
        "not_responsible" => Meaning::NotResponsible,
        "session_limit" => Meaning::SessionLimit,
        "server_temporary" => Meaning::ServerTemporary,
        "server_permanent" => Meaning::ServerPermanent,
        "needs_smtputf8" => Meaning::NeedsSmtpUtf8,
        "unmatched" => Meaning::Unmatched,
        "us.blocked" => Meaning::AboutUs(AboutUs::Blocked),
        "us.rate_limited" => Meaning::AboutUs(AboutUs::RateLimited),
        "us.identity" => Meaning::AboutUs(AboutUs::Identity),
        "us.sender" => Meaning::AboutUs(AboutUs::Sender),
        "us.tls_required" => Meaning::AboutUs(AboutUs::TlsRequired),
        "us.auth_required" => Meaning::AboutUs(AboutUs::AuthRequired),
        "us.policy" => Meaning::AboutUs(AboutUs::Policy),
        _ => panic!("no meaning is called {name}"),
    }
}

/// Cases that must never become undeliverable, however they are dressed up.
fn harmless() -> Vec<Case> {
    cases().into_iter().filter(|case| case.meaning.makes_undeliverable().is_none()).collect()
}

#[test]
fn every_reply_of_the_table_reads_as_it_says() {
    let mut wrong = String::new();
    for case in cases() {
        let reading = Rules::embedded().read(&case.reply, case.stage, case.provider.as_deref());
        let undeliverable = |meaning: Meaning| meaning.makes_undeliverable().is_some();
        let same = reading.meaning == case.meaning
            || case.any && undeliverable(reading.meaning) == undeliverable(case.meaning);
        let wait = case.wait_s.is_none_or(|wait| reading.retry_after_ms == Some(wait * 1000));
        if !same || !wait {
            writeln!(wrong, "line {}: {:?}, not {:?}: {:?}", case.line, reading, case.meaning, case.reply.text)
                .expect("a string takes all");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
