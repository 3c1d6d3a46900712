//! The table of `data/replies.txt`, and what must hold for every reply around it.

use std::{collections::BTreeSet, fmt::Write, sync::LazyLock};

use probity_core::{
    classify::{Meaning, Rules, Stage},
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
    Meaning::from_name(name).unwrap_or_else(|| panic!("no meaning is called {name}"))
}

/// Cases that must never become undeliverable, however they are dressed up.
static HARMLESS: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let harmless = |case: &Case| case.meaning.makes_undeliverable().is_none();
    cases().into_iter().filter(harmless).collect()
});

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

#[test]
fn every_rule_has_a_case() {
    let rules = Rules::embedded();
    let read = |case: &Case| rules.read(&case.reply, case.stage, case.provider.as_deref()).rule.to_string();
    let used: BTreeSet<String> = cases().iter().map(read).collect();
    let unused: Vec<&str> = rules.ids().filter(|id| !used.contains(*id)).collect();
    assert!(unused.is_empty(), "rules that no case of the table reaches: {unused:?}");
}

#[test]
fn a_missing_mailbox_is_only_read_from_a_final_answer_to_rcpt() {
    let rules = Rules::embedded();
    for case in cases() {
        let provider = case.provider.as_deref();
        for stage in [Stage::Connect, Stage::Ehlo, Stage::StartTls, Stage::Mail, Stage::Unsolicited] {
            let reading = rules.read(&case.reply, stage, provider);
            assert_eq!(reading.meaning.makes_undeliverable(), None, "line {} at {stage:?}: {reading:?}", case.line);
        }
        if case.reply.code >= 500 {
            let milder = Reply { code: case.reply.code - 100, ..case.reply.clone() };
            let reading = rules.read(&milder, Stage::Rcpt, provider);
            assert_eq!(reading.meaning.makes_undeliverable(), None, "line {} as 4xx: {reading:?}", case.line);
        }
    }
}

#[test]
fn a_missing_mailbox_is_recognized_without_its_enhanced_code_and_without_a_provider() {
    let (mut all, mut missed) = (0, Vec::new());
    for case in cases() {
        // Where the code or the provider is the message, there is nothing left without it.
        let telling = case.reply.text.chars().any(char::is_alphabetic) && !case.any;
        if case.meaning != Meaning::NoSuchUser || !telling {
            continue;
        }
        all += 1;
        let bare = Reply { enhanced: None, ..case.reply.clone() };
        let reading = Rules::embedded().read(&bare, Stage::Rcpt, None);
        if reading.meaning.makes_undeliverable().is_none() {
            missed.push(format!("line {}: {} by {}", case.line, bare.text, reading.rule));
        }
    }
    assert!(missed.len() * 20 <= all, "{} of {all}: {missed:#?}", missed.len());
}

#[test]
fn mixed_texts_are_never_about_the_recipient() {
    // Each telling text about a missing mailbox, next to each telling word about us.
    let about_us = [
        "your IP is on a block list",
        "listed by zen.spamhaus.org",
        "blocked due to spam",
        "SPF check failed",
        "sender not accepted",
        "no PTR record",
        "bad HELO",
        "too many connections",
        "rate limit exceeded",
        "policy violation",
        "poor reputation",
        "relaying denied",
        "authentication required",
        "STARTTLS required",
        "try again later",
        "DMARC",
        "greylisted",
        "virus found",
    ];
    for case in cases().iter().filter(|case| case.meaning.makes_undeliverable().is_some()) {
        for words in about_us {
            for text in [format!("{} {words}", case.reply.text), format!("{words}: {}", case.reply.text)] {
                // A full mailbox and "try again later" do not contradict each other.
                if case.meaning == Meaning::InboxFull && words == "try again later" {
                    continue;
                }
                let reply = Reply { text, ..case.reply.clone() };
                for provider in [None, case.provider.as_deref()] {
                    let reading = Rules::embedded().read(&reply, Stage::Rcpt, provider);
                    let verdict = reading.meaning.makes_undeliverable();
                    assert_eq!(verdict, None, "line {} with {words:?}: {reading:?}", case.line);
                }
            }
        }
    }
}

/// Random case of letters, by the bits of a number.
fn recase(text: &str, bits: u64) -> String {
    let pick = |(index, c): (usize, char)| {
        if bits >> (index % 64) & 1 == 1 { c.to_ascii_uppercase() } else { c }
    };
    text.chars().enumerate().map(pick).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a harmless reply is dressed up, it does not make an address undeliverable.
    #[test]
    fn harmless_replies_stay_harmless(
        pick in any::<prop::sample::Index>(),
        bits in any::<u64>(),
        local in "(no\\.such\\.user|user\\.unknown|mailbox\\.full|disabled|invalid|not-found|[a-z]{1,8})",
        provider in prop::sample::select(vec!["google", "outlook", "microsoft365", "yahoo", "icloud", "mailru", "yandex",
            "proofpoint", "mimecast", "barracuda", "cisco", "gmx", "orange", "free", "qq", "netease", "titan", "nobody"]),
        before in prop::sample::select(vec!["", "Error: ", "mx1.example.com ", "[a1b2] ", "<> ", "said: ", "5xx - "]),
        with_provider in any::<bool>(),
    ) {
        let case = &HARMLESS[pick.index(HARMLESS.len())];
        let text = format!("{before}{} <{local}@example.net>", recase(&case.reply.text, bits));
        // A provider's own rule may know better than general wording: only cases without one change providers.
        let provider = if case.provider.is_some() { case.provider.as_deref() } else { Some(provider).filter(|_| with_provider) };
        let reading = Rules::embedded().read(&Reply { text, ..case.reply.clone() }, Stage::Rcpt, provider);
        if case.stage == Stage::Rcpt {
            prop_assert_eq!(reading.meaning.makes_undeliverable(), None, "line {}: {:?}", case.line, reading);
        }
    }

    /// No text at all breaks the reader, and none makes an address undeliverable from a 4xx.
    #[test]
    fn any_text_can_be_read(text in "\\PC{0,700}", code in 200_u16..600, detail in 0_u16..1000) {
        let enhanced = Some(Enhanced { class: 5, subject: detail % 8, detail });
        let reply = Reply { code, enhanced, text, nonconforming: true };
        let reading = Rules::embedded().read(&reply, Stage::Rcpt, None);
        prop_assert!(code >= 500 || reading.meaning.makes_undeliverable().is_none());
        prop_assert!(reading.retry_after_ms.is_none_or(|wait| (0..=86_400_000).contains(&wait)));
    }
}
