//! The table of `data/replies.txt`, and what must hold for every reply around it.

use std::{
    collections::BTreeSet,
    fmt::Write,
    net::{IpAddr, Ipv4Addr},
    sync::LazyLock,
};

use probity_mail::{
    classify::{AboutUs, DialogParties, DialogStage, Meaning, ReplyReading, Rules},
    smtp::reply::{Enhanced, Reply, ReplyParser},
};
use proptest::prelude::*;

const TABLE: &str = include_str!("data/replies.txt");
/// Replies that no rule was written from.
const UNSEEN: &str = include_str!("data/replies_unseen.txt");
const ADDRESS: &str = "joe.doe@example.net";

const US: &[IpAddr] = &[IpAddr::V4(Ipv4Addr::new(192, 0, 2, 25))];
const PARTIES: DialogParties<'_> =
    DialogParties { recipient: ADDRESS, sender: "ask@probe.example", helo: "mx1.probe.example", addresses: US };

fn read(reply: &Reply, stage: DialogStage, provider: Option<&str>) -> ReplyReading {
    Rules::embedded().read_between(reply, stage, provider, &PARTIES)
}

/// One line of the table.
#[derive(Clone, Debug)]
struct Case {
    line: usize,
    meaning: Meaning,
    stage: DialogStage,
    provider: Option<String>,
    reply: Reply,
    /// Any meaning of the same kind will do: undeliverable or not.
    any: bool,
    wait_s: Option<i64>,
    rule: Option<&'static str>,
}

fn cases() -> Vec<Case> {
    cases_of(TABLE)
}

fn cases_of(table: &'static str) -> Vec<Case> {
    let (mut cases, mut section) = (Vec::new(), "");
    for (number, line) in (1..).zip(table.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => section = name,
            None => cases.push(case(number, line, section)),
        }
    }
    cases
}

fn case(line: usize, text: &'static str, section: &str) -> Case {
    let (text, notes) = text.split_once(" ## ").unwrap_or((text, ""));
    let mut words = text.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (stage, provider, code) = (word(), word(), word());
    Case {
        line,
        meaning: meaning_of(section),
        stage: stage_of(stage),
        provider: Some(provider.to_owned()).filter(|name| name != "-"),
        reply: reply(&code[..3], word()),
        any: notes == "any" || section == "harmless",
        rule: notes.strip_prefix("rule="),
        wait_s: notes.strip_prefix("wait=").map(|wait| wait.parse().expect("seconds")),
    }
}

/// The reply as it comes over the wire. Two blanks stand for the end of a line.
fn reply(code: &str, rest: &str) -> Reply {
    let rest = rest.replace("{a}", ADDRESS).replace("{ip}", "192.0.2.25").replace("{us}", PARTIES.sender);
    let mut lines: Vec<String> = rest.split("  ").map(|line| format!("{code}-{line}\r\n")).collect();
    let last = lines.last_mut().expect("a line");
    last.replace_range(3..4, " ");
    let read = ReplyParser::new().next(&mut lines.concat().as_bytes());
    read.expect("a whole reply").expect("a reply")
}

fn stage_of(name: &str) -> DialogStage {
    match name {
        "connect" => DialogStage::Connect,
        "ehlo" => DialogStage::Ehlo,
        "starttls" => DialogStage::StartTls,
        "mail" => DialogStage::Mail,
        "rcpt" => DialogStage::Rcpt,
        _ => panic!("no stage is called {name}"),
    }
}

/// The meaning that a section is named after; of [harmless], one of those that it may be.
fn meaning_of(name: &str) -> Meaning {
    if name == "harmless" {
        return Meaning::Unmatched;
    }
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
        let reading = read(&case.reply, case.stage, case.provider.as_deref());
        let undeliverable = |meaning: Meaning| meaning.makes_undeliverable().is_some();
        let same = reading.meaning == case.meaning
            || case.any && undeliverable(reading.meaning) == undeliverable(case.meaning);
        let wait = case.wait_s.is_none_or(|wait| reading.retry_after_ms == Some(wait * 1000));
        let rule = case.rule.is_none_or(|rule| *reading.rule == *rule);
        if !same || !wait || !rule {
            writeln!(wrong, "line {}: {:?}, not {:?}: {:?}", case.line, reading, case.meaning, case.reply.text)
                .expect("a string takes all");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn rules_hold_for_replies_that_they_were_not_written_from() {
    let (mut all, mut right, mut wrong) = (0, 0, String::new());
    for case in cases_of(UNSEEN) {
        let reading = read(&case.reply, case.stage, case.provider.as_deref());
        let (got, wanted) = (reading.meaning.makes_undeliverable(), case.meaning.makes_undeliverable());
        if wanted.is_some() {
            all += 1;
            right += usize::from(got == wanted);
        } else if got.is_some() {
            writeln!(wrong, "line {}: {reading:?}: {:?}", case.line, case.reply.text).expect("a string takes all");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(right * 100 >= all * 92, "{right} of {all}");
}

#[test]
fn every_rule_has_a_case() {
    let rules = Rules::embedded();
    let rule_of = |case: &Case| read(&case.reply, case.stage, case.provider.as_deref()).rule.to_string();
    let used: BTreeSet<String> = cases().iter().map(rule_of).collect();
    let unused: Vec<&str> = rules.ids().filter(|id| !used.contains(*id)).collect();
    assert!(unused.is_empty(), "rules that no case of the table reaches: {unused:?}");
}

#[test]
fn a_missing_mailbox_is_only_read_from_a_final_answer_to_rcpt() {
    for case in cases() {
        let provider = case.provider.as_deref();
        for stage in [
            DialogStage::Connect,
            DialogStage::Ehlo,
            DialogStage::StartTls,
            DialogStage::Mail,
            DialogStage::Unsolicited,
        ] {
            let reading = read(&case.reply, stage, provider);
            assert_eq!(reading.meaning.makes_undeliverable(), None, "line {} at {stage:?}: {reading:?}", case.line);
        }
        if case.reply.code >= 500 {
            let milder = Reply { code: case.reply.code - 100, ..case.reply.clone() };
            let reading = read(&milder, DialogStage::Rcpt, provider);
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
        let reading = read(&bare, DialogStage::Rcpt, None);
        if reading.meaning.makes_undeliverable().is_none() {
            missed.push(format!("line {}: {} by {}", case.line, bare.text, reading.rule));
        }
    }
    assert!(missed.len() * 10 <= all, "{} of {all}: {missed:#?}", missed.len());
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
        "dirección IP bloqueada",
        "votre serveur est bloqué",
        "ваш IP в списке",
        "发件人被拒绝",
        "\u{fffd}\u{fffd}ܾ\u{fffd}",
        "??? ?? ????",
        "(banned)",
        "dictionary attack detected",
        "slow down",
        "country not served",
        "LDAP not reachable",
        "451 4.7.1",
        "5.7.1 rejected",
        "[198.51.100.7]",
        "…",
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
                    let reading = read(&reply, DialogStage::Rcpt, provider);
                    let verdict = reading.meaning.makes_undeliverable();
                    assert_eq!(verdict, None, "line {} with {words:?}: {reading:?}", case.line);
                }
            }
        }
    }
}

/// Codes that speak of a mailbox, or of nothing.
const FOREIGN_CODES: [(u16, u16); 12] =
    [(0, 0), (1, 0), (1, 1), (1, 3), (1, 6), (1, 10), (2, 0), (2, 1), (2, 2), (4, 1), (5, 0), (7, 13)];

#[test]
fn a_code_of_another_makes_no_refusal_undeliverable() {
    let mut wrong = String::new();
    let says_something = |case: &Case| case.reply.code >= 400 && case.reply.text.contains(char::is_alphabetic);
    for case in HARMLESS.iter().filter(|case| case.stage == DialogStage::Rcpt && says_something(case)) {
        let read = |reply: &Reply| read(reply, DialogStage::Rcpt, case.provider.as_deref());
        // Only where the table itself names no meaning may a text leave the word to its code.
        let said = read(&Reply { code: 550, enhanced: None, ..case.reply.clone() }).meaning;
        let is_left_to_code = case.meaning == Meaning::Unmatched && !case.any && said == Meaning::Unmatched;
        if is_left_to_code || said.makes_undeliverable().is_some() {
            continue;
        }
        for (subject, detail) in FOREIGN_CODES {
            for code in [550, 521, 552, 554] {
                let enhanced = Some(Enhanced { class: 5, subject, detail });
                let reading = read(&Reply { code, enhanced, ..case.reply.clone() });
                if reading.meaning.makes_undeliverable().is_some() {
                    let (line, text) = (case.line, &case.reply.text);
                    writeln!(wrong, "line {line} as {code} 5.{subject}.{detail}: {} reads {text}", reading.rule)
                        .expect("a string takes all");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Verdict words of other languages, which count in whole sentences only.
const FOREIGN: [&str; 5] = ["inconnu", "desconocido", "nieznany", "onbekende", "bilinmeyen"];

#[test]
fn a_verdict_word_before_a_foreign_noun_is_none() {
    let read = |text: &str, detail: Option<(u16, u16)>| {
        let enhanced = detail.map(|(subject, detail)| Enhanced { class: 5, subject, detail });
        let text = text.replace("{a}", ADDRESS);
        read(&Reply { code: 550, enhanced, text, nonconforming: false }, DialogStage::Rcpt, None).meaning
    };
    for word in [
        "unknown",
        "invalid",
        "undefined",
        "unregistered",
        "unavailable",
        "undeliverable",
        "expired",
        "disabled",
        "deactivated",
        "suspended",
        "locked",
        "closed",
        "inactive",
        "terminated",
        "full",
        "quota exceeded",
        "unbekannt",
        "unbekannter",
        "inconnu",
        "desconocido",
        "неизвестный",
        "nieznany",
        "onbekende",
        "bilinmeyen",
    ] {
        let is_english = word.is_ascii() && !word.starts_with("unbekannt") && !FOREIGN.contains(&word);
        for named in ["<{a}>...", "<{a}>:", "<{a}> is"] {
            let plain = format!("{named} {word}");
            if is_english {
                assert!(read(&plain, None).makes_undeliverable().is_some(), "{plain}");
            }
            for noun in [
                "mailer error 1",
                "client",
                "relay host",
                "certificate",
                "message body",
                "plugin",
                "for client 192.0.2.9",
            ] {
                for detail in [None, Some((0, 0)), Some((1, 1)), Some((2, 1)), Some((2, 2))] {
                    let text = format!("{plain} {noun}");
                    assert_eq!(read(&text, detail).makes_undeliverable(), None, "{detail:?} {text}");
                }
            }
        }
    }
}

/// The names in a dialogue, and what texts with them say.
struct Dialogue {
    recipient: &'static str,
    sender: &'static str,
    helo: &'static str,
    texts: &'static [(&'static str, Meaning)],
}

const DIALOGUES: &[Dialogue] = &[
    Dialogue {
        recipient: "joe@example.net",
        sender: "ask@probe.example",
        helo: "mx1.probe.example",
        texts: &[
            ("No such user <ask@probe.example>", Meaning::AboutUs(AboutUs::Sender)),
            ("<Ask@Probe.Example>: user unknown", Meaning::AboutUs(AboutUs::Sender)),
            ("5.1.1 mailbox ask@probe.example does not exist", Meaning::AboutUs(AboutUs::Sender)),
            ("mailbox ask@probe.example is full", Meaning::AboutUs(AboutUs::Sender)),
            ("account ask@probe.example is disabled", Meaning::AboutUs(AboutUs::Sender)),
            ("5.2.1 <ask@probe.example>", Meaning::AboutUs(AboutUs::Sender)),
            ("unknown user postmaster@mx1.probe.example", Meaning::AboutUs(AboutUs::Sender)),
            ("user unknown (mx1.probe.example)", Meaning::AboutUs(AboutUs::Policy)),
            ("5.1.1 no such user at probe.example", Meaning::AboutUs(AboutUs::Policy)),
            ("5.1.1 [192.0.2.25] unknown user", Meaning::AboutUs(AboutUs::Policy)),
            ("<joe@example.net>: no such user <ask@probe.example>", Meaning::AboutUs(AboutUs::Sender)),
            ("<joe@example.net> rejected: <ask@probe.example> does not exist", Meaning::AboutUs(AboutUs::Sender)),
            (
                "<joe@example.net>... User unknown (from mx1.probe.example [192.0.2.25])",
                Meaning::AboutUs(AboutUs::Policy),
            ),
            (
                "<JOE@example.net>: user unknown, from=<ask@probe.example> ip=192.0.2.25",
                Meaning::AboutUs(AboutUs::Policy),
            ),
            ("5.1.1 from ask@probe.example to joe@example.net: no such mailbox", Meaning::NoSuchUser),
            ("5.1.1 <joe@example.net> mx1.probe.example", Meaning::Unmatched),
            ("<joe@example.net>: disabled mx1.probe.example", Meaning::AboutUs(AboutUs::Policy)),
            ("5.1.1 <joe@backend.example>: no such user [192.0.2.25]", Meaning::AboutUs(AboutUs::Policy)),
            ("no such user, see https://example.net/why?ip=192.0.2.25", Meaning::Unmatched),
            ("no such user <task@probe.example.org>", Meaning::NoSuchUser),
            ("no such user [192.0.2.251]", Meaning::Unmatched),
        ],
    },
    Dialogue {
        recipient: "joe@example.net",
        sender: "ask@example.net",
        helo: "example.net",
        texts: &[
            ("no such user at example.net", Meaning::NoSuchUser),
            ("<joe@example.net>: user unknown", Meaning::NoSuchUser),
            ("<joe.doe@example.net>: user unknown", Meaning::NoSuchUser),
            ("<ask@example.net>: user unknown", Meaning::AboutUs(AboutUs::Sender)),
        ],
    },
    Dialogue {
        recipient: "ask@example.net",
        sender: "ask@example.net",
        helo: "mx1.example.net",
        texts: &[("no such user <ASK@example.net>", Meaning::NoSuchUser)],
    },
    Dialogue {
        recipient: "newsletter@zen.example",
        sender: "ask@probe.example",
        helo: "mx1.probe.example",
        texts: &[
            ("unknown user \"newsletter\"", Meaning::NoSuchUser),
            ("User 'newsletter' does not exist", Meaning::NoSuchUser),
            ("unknown user <newsletter>", Meaning::NoSuchUser),
            ("No such user: newsletter", Meaning::NoSuchUser),
            ("User newsletter unknown", Meaning::NoSuchUser),
            ("User unknown [mx1.zen.example]", Meaning::NoSuchUser),
            ("No such user at zen.example", Meaning::NoSuchUser),
            ("User unknown, see https://www.zen.example/contact", Meaning::NoSuchUser),
            ("User unknown: listed by zen.spamhaus.org", Meaning::AboutUs(AboutUs::Blocked)),
            ("User unknown: blocked by zen.other.example", Meaning::AboutUs(AboutUs::Blocked)),
            ("User unknown: this newsletter is not accepted", Meaning::Unmatched),
        ],
    },
    Dialogue {
        recipient: "joe@example.net",
        sender: "",
        helo: "mx1.probe.example",
        texts: &[("no such user <>", Meaning::NoSuchUser)],
    },
];

#[test]
fn a_reply_that_names_us_and_not_the_recipient_is_about_us() {
    for Dialogue { recipient, sender, helo, texts } in DIALOGUES {
        let parties = DialogParties { recipient, sender, helo, addresses: US };
        for (text, meaning) in *texts {
            for provider in [None, Some("google"), Some("yandex")] {
                let reading =
                    Rules::embedded().read_between(&reply("550", text), DialogStage::Rcpt, provider, &parties);
                assert_eq!(reading.meaning, *meaning, "{text} to {recipient}: {}", reading.rule);
            }
        }
    }
}

/// Statements about a mailbox, which a word about us beside them makes harmless.
const STATEMENTS: [&str; 6] = [
    "User unknown",
    "5.1.1 User unknown",
    "No such user here",
    "5.1.1 <{a}>: Recipient address rejected: User unknown in virtual mailbox table",
    "Mailbox unavailable",
    "Mailbox disabled",
];

#[test]
fn a_reason_behind_a_statement_is_not_taken_off() {
    for statement in STATEMENTS {
        for reason in [
            " [blacklisted IP: {ip}]",
            " [blocked IP: {ip}]",
            " (Blacklisted IP: {ip})",
            " [RBL IP: {ip}]",
            " [spam IP={ip}]",
            ". Your message was rejected by our policy",
            "; from=<{us}> blocked=yes",
            "; from=<{us}> to=<{a}> proto=ESMTP helo=<mx1.probe.example> reason=policy",
            ". Please check the sender address",
            ". Please check your sender's address and try again",
            ": your message was rejected as spam",
        ] {
            let reading = read(&reply("550", &format!("{statement}{reason}")), DialogStage::Rcpt, None);
            assert_eq!(reading.meaning.makes_undeliverable(), None, "{statement}{reason}: {}", reading.rule);
        }
    }
    for text in [
        "用户不存在。请检查发件人地址",
        "用户不存在，请检查发件人邮箱地址",
        "收件人不存在。请检查您的发件人设置",
        "邮箱不存在：请联系发件人的管理员",
        "5.7.1 Your message was rejected: recipient unavailable",
        "5.7.1 Message rejected: mailbox unavailable",
        "Your mail was refused: recipient not accepted",
        "5.7.1 Delivery denied: recipient invalid",
    ] {
        let reading = read(&reply("550", text), DialogStage::Rcpt, None);
        assert_eq!(reading.meaning.makes_undeliverable(), None, "{text}: {}", reading.rule);
    }
}

#[test]
fn a_local_part_that_is_a_word_of_a_reason_hides_none() {
    for word in ["abuse", "spam", "policy", "sender", "blocked", "relay", "virus", "phishing", "blacklist", "dmarc"] {
        let recipient = format!("{word}@example.net");
        let parties = DialogParties { recipient: &recipient, ..PARTIES };
        for text in [
            "Mailbox disabled for {w}",
            "Account suspended for {w}",
            "Mailbox unavailable ({w})",
            "Mailbox unavailable: {w}",
            "Mailbox unavailable [{w}]",
            "Recipient unavailable, {w}",
            "User unknown. {w}",
            "{w}: mailbox unavailable",
            "Requested action not taken: mailbox unavailable ({w})",
            "5.1.1 mailbox unavailable due to {w}",
        ] {
            let text = text.replace("{w}", word);
            let reading = Rules::embedded().read_between(&reply("550", &text), DialogStage::Rcpt, None, &parties);
            assert_eq!(reading.meaning.makes_undeliverable(), None, "{text} to {recipient}: {}", reading.rule);
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
        let reading = read(&Reply { text, ..case.reply.clone() }, DialogStage::Rcpt, provider);
        if case.stage == DialogStage::Rcpt {
            prop_assert_eq!(reading.meaning.makes_undeliverable(), None, "line {}: {:?}", case.line, reading);
        }
    }

    /// No text at all breaks the reader, and none makes an address undeliverable from a 4xx.
    #[test]
    fn any_text_can_be_read(text in "\\PC{0,700}", code in 200_u16..600, detail in 0_u16..1000) {
        let enhanced = Some(Enhanced { class: 5, subject: detail % 8, detail });
        let reply = Reply { code, enhanced, text, nonconforming: true };
        let reading = Rules::embedded().read(&reply, DialogStage::Rcpt, None);
        prop_assert!(code >= 500 || reading.meaning.makes_undeliverable().is_none());
        prop_assert!(reading.retry_after_ms.is_none_or(|wait| (0..=86_400_000).contains(&wait)));
    }
}
