//! Servers that take few recipients in a transaction, or few transactions in a session: a list costs more sessions there, and comes
//! to the same verdicts.

use std::sync::Arc;

use probity_engine::verifier::Verifier as _;
use probity_mailworld::{
    At, Greylist, MailboxState, Mailboxes, Personality, Pipelining, Recipients, ServerLimits, ServerPace, World, Zone,
};

use crate::evil::{self, Say, Wrong};
use crate::world::{Lab, brief};

const COUNT: usize = 45;

/// The last of each nine are missing.
fn world(personality: Personality) -> Arc<World> {
    let people = (0..COUNT)
        .filter(|n| n % 9 != 8)
        .fold(Mailboxes::default(), |all, n| all.with(&format!("user{n}"), MailboxState::Exists));
    World::builder()
        .zone("two.example.com", Zone::served_by(&["mx.one.example.com"]))
        .site("one.example.com", people, personality)
        .build()
        .expect("a world")
}

fn lab(personality: Personality) -> Lab {
    Lab::polite(&world(personality))
}

fn emails(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("user{n}@one.example.com")).collect()
}

/// The seconds that a list took, all of whose verdicts are right.
async fn seconds(lab: &Lab, count: usize, told: &str) -> i64 {
    let started = lab.engine.now();
    for (n, said) in lab.batch(&emails(count)).await.iter().enumerate() {
        let wanted = if n % 9 == 8 { "nonexistent" } else { "valid" };
        assert_eq!(said.verdict.reason.as_str(), wanted, "{told}: {n} {:?}", said.verdict);
    }
    lab.engine.now().since(started) / 1_000
}

fn few_recipients(most: u32) -> Personality {
    let limits = ServerLimits { rcpt_per_transaction: most, ..ServerLimits::default() };
    Personality { limits, ..Personality::default() }
}

#[tokio::test(start_paused = true)]
async fn a_list_comes_to_the_verdicts_of_single_calls_whatever_a_transaction_takes() {
    let ordinary = seconds(&lab(Personality::default()), COUNT, "ordinary").await;
    for pipelining in [Pipelining::Offered, Pipelining::None] {
        for (most, count) in [(1, 1), (1, 2), (2, 4), (3, 9), (5, 10), (1, COUNT), (4, COUNT)] {
            let told = format!("{pipelining:?} {most} {count}");
            let lab = lab(Personality { pipelining, ..few_recipients(most) });
            let took = seconds(&lab, count, &told).await;
            assert!(took <= ordinary + 15, "{told}: {took} s");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_few_transactions_a_session_gets_more_sessions() {
    let ordinary = seconds(&lab(Personality::default()), COUNT, "ordinary").await;
    for text in [
        "503 5.5.1 EHLO/HELO first please",
        "503 Bad sequence of commands",
        "421 4.7.0 Too many messages in this session",
        "421 closing connection",
        "452 4.5.3 Too many messages",
        "452 Only one transaction per session",
    ] {
        for (pipelining, most) in [(Pipelining::Offered, 1), (Pipelining::None, 1), (Pipelining::Offered, 2)] {
            let told = format!("{text} {pipelining:?} {most}");
            let personality = Personality { pipelining, ..Personality::default() };
            let lab = lab(personality.with_transactions(most, text));
            let took = seconds(&lab, COUNT, &told).await;
            assert!(took <= ordinary + 15, "{told}: {took} s, ordinary {ordinary} s");
            assert!(lab.net.hosts().connections <= 16, "{told}: {:?}", lab.net.hosts());
            assert!(lab.snapshot().held.is_empty(), "{told}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_recipient_a_transaction_and_one_transaction_a_session() {
    let lab = lab(few_recipients(1).with_transactions(1, "503 EHLO/HELO first please"));
    let took = seconds(&lab, 20, "both").await;
    assert!(took < 60, "{took} s");
    // One for each, one for the random recipient, and the one that showed what a session takes.
    assert!(lab.net.hosts().connections <= 22, "{:?}", lab.net.hosts());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_takes_few_recipients_is_followed_by_another() {
    let ordinary = seconds(&lab(Personality::default()), COUNT, "ordinary").await;
    for most in [1, 2, 5, 12] {
        let limits = ServerLimits { rcpt_per_session: most, ..ServerLimits::default() };
        let lab = lab(Personality { limits, ..Personality::default() });
        let took = seconds(&lab, COUNT, &format!("{most}")).await;
        assert!(took <= ordinary + 15, "{most}: {took} s, ordinary {ordinary} s");
    }
}

#[tokio::test(start_paused = true)]
async fn announced_limits_are_kept() {
    for (rcpt, mails) in [(1, 1), (1, 3), (4, 1), (0, 1), (0, 2)] {
        let limits = ServerLimits { rcpt_per_transaction: rcpt, announced: true, ..ServerLimits::default() };
        let lab = lab(Personality { limits, ..Personality::default() }.with_transactions(mails, "503 no more"));
        seconds(&lab, 20, &format!("{rcpt} {mails}")).await;
        assert_eq!(lab.net.hosts().errors, 0, "{rcpt} {mails}: nothing was asked in vain");
    }
}

#[tokio::test(start_paused = true)]
async fn live_calls_do_not_share_a_session_that_is_full() {
    let lab = lab(Personality::default().with_transactions(1, "503 5.5.1 EHLO/HELO first please"));
    for n in 0..9 {
        let wanted = if n % 9 == 8 { "undeliverable/nonexistent/smtp_550_5.1.1" } else { "passed/valid/" };
        assert_eq!(brief(&lab.live(&format!("user{n}@one.example.com")).await), wanted);
    }
    let seen = lab.net.hosts();
    assert_eq!((seen.connections, seen.mail), (9, 10), "the second call alone found out: {seen:?}");
}

#[tokio::test(start_paused = true)]
async fn greylisting_and_a_catch_all_are_found_out_behind_a_limit() {
    let greylist = Some(Greylist { delay_s: 60, hint: true });
    for most in [1, 2] {
        let grey = lab(Personality { greylist, ..few_recipients(most) }.with_transactions(2, "421 closing"));
        seconds(&grey, 12, "greylisted").await;
        let all = lab(Personality { recipients: Recipients::AcceptAll, ..few_recipients(most) });
        for said in all.batch(&emails(9)).await {
            assert_eq!(brief(&said), "unknown/accept_all/catch_all", "{most}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_rset_takes_no_reply_back() {
    for text in ["550 5.0.0 not now", "554 no", "451 4.3.0 later", "450 no", "552 no", "502 5.5.1 unknown"] {
        for pipelining in [Pipelining::Offered, Pipelining::None] {
            let lab = lab(Personality { pipelining, ..Personality::default() }.refusing(At::Rset, text));
            seconds(&lab, COUNT, text).await;
        }
    }
}

/// Postal demands a login for recipients that it does not have.
#[tokio::test(start_paused = true)]
async fn a_login_demanded_for_some_is_about_them() {
    let lab = lab(Personality::speaking("postal"));
    for (n, said) in lab.batch(&emails(COUNT)).await.iter().enumerate() {
        let wanted = if n % 9 == 8 { "unknown/failed_exchange/auth_required" } else { "passed/valid/" };
        assert_eq!(brief(said), wanted, "{n}");
    }
    for n in 0..6 {
        let said = lab.live(&format!("nobody{n}@one.example.com")).await;
        assert_eq!(brief(&said), "unknown/failed_exchange/auth_required");
    }
    // Nor is it about us at another domain of the site.
    for n in 0..6 {
        let said = lab.live(&format!("nobody{n}@two.example.com")).await;
        assert_eq!(brief(&said), "unknown/failed_exchange/auth_required");
    }
    assert!(lab.snapshot().held.is_empty(), "no circuit breaker opens");
}

/// What a server says to one command, that closes the connection after this reply to RSET.
fn closing(line: &str, rset: &'static str) -> String {
    let missing = |line: &str| {
        let digits = line.trim_start_matches("RCPT TO:<user").split('@').next().unwrap_or_default();
        digits.parse().map_or(true, |n: usize| n % 9 == 8)
    };
    match line.split(' ').next().unwrap_or_default() {
        "" => "220 mx.one.example.com ESMTP\r\n".to_owned(),
        "EHLO" => "250-mx.one.example.com\r\n250 PIPELINING\r\n".to_owned(),
        "RCPT" if missing(line) => "550 5.1.1 no such user\r\n".to_owned(),
        "RSET" => rset.to_owned(),
        "QUIT" => "221 bye\r\n".to_owned(),
        _ => "250 ok\r\n".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_behind_a_transaction_is_followed_by_another() {
    for rset in ["250 ok\r\n", "", "250 ok\r\n421 bye\r\n", "421 bye\r\n"] {
        let script = move |lines: &[String]| {
            let ends = lines.iter().any(|line| line == "RSET").then_some(Say::Close);
            lines.iter().map(|line| Say::Text(closing(line, rset))).chain(ends).collect()
        };
        let wrong = Wrong { script: Some(Arc::new(script)), ..Wrong::default() };
        let (lab, _) = evil::lab(&world(Personality::default()), wrong, |_| {});
        let took = seconds(&lab, COUNT, &format!("{rset:?}")).await;
        assert!(took <= 90, "{rset:?}: {took} s");
    }
}

/// A server that takes two seconds for each reply takes them for its goodbye, too, and has not dropped the session.
#[tokio::test(start_paused = true)]
async fn a_slow_server_is_asked_about_each_once() {
    let pace = ServerPace { reply_ms: 2_000, ..ServerPace::default() };
    let lab = lab(Personality { pace, ..Personality::default() });
    seconds(&lab, COUNT, "slow").await;
    let seen = lab.net.hosts();
    // One is made up.
    assert_eq!(seen.rcpt, COUNT as u64 + 1, "{seen:?}");
}
