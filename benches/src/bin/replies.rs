//! Speed of parsing and reading replies and answering flights, alone on one core.
//!
//! `cargo run --release -p probity-benches --bin replies -- --count 1000000`

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use probity_mail::classify::{DialogParties, DialogStage, Rules};
use probity_mail::smtp::reply::ReplyParser;
use probity_mail::smtp::session::{
    Config, Flight, Recipient, SessionEvent, SessionStep, SmtpSession, Timeouts, TlsMode,
};
use probity_mail::time::Millis;

/// Parses and reads replies and plays flights of a pipelining server; prints nanoseconds for each.
#[derive(Parser)]
struct Arguments {
    /// Number of replies and flights.
    #[arg(long, default_value_t = 1_000_000)]
    count: u32,
    /// Rounds of each; the fastest time counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

const REPLIES: [(&str, &[u8]); 6] = [
    ("one line, accepted", b"250 2.1.5 Ok\r\n"),
    ("one line, refused", b"550 5.1.1 <a@b.example>: Recipient address rejected: User unknown\r\n"),
    ("one line, UTF-8", "550 5.1.1 Empfänger unbekannt\r\n".as_bytes()),
    (
        "one line about us",
        b"554 5.7.1 Service unavailable; Client host [192.0.2.25] blocked using zen.dnsbl.example\r\n",
    ),
    ("one line, unknown", b"550 5.1.1 what this server says was never heard before anywhere else\r\n"),
    (
        "five lines",
        b"550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n\
          550-5.1.1 double-checking the recipient's email address for typos or\r\n\
          550-5.1.1 unnecessary spaces. For more information, go to\r\n\
          550-5.1.1  https://support.example/mail/?p=NoSuchUser\r\n550 5.1.1 x - smtp\r\n",
    ),
];
const FLIGHT: &[u8] = b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n550 5.1.1 <b@x.example>: User unknown\r\n250 2.0.0 Ok\r\n";

#[expect(clippy::disallowed_methods, reason = "a measurement of real time")]
fn fastest(rounds: usize, mut round: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        round();
        start.elapsed()
    };
    (0..rounds.max(1)).map(time).min().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "the result of a measurement")]
fn report(what: &str, time: Duration, count: u32) {
    println!("{what}: {} ns", time.as_nanos() / u128::from(count.max(1)));
}

/// Returns an idle session with a server that offers PIPELINING.
fn idle() -> SmtpSession {
    let times = i64::from(u32::MAX);
    let timeouts = Timeouts { banner_ms: times, command_ms: times, session_ms: times, read_ms: times };
    let (helo, mail_from) = ("probe.example".into(), "ask@probe.example".into());
    let mut session = SmtpSession::new(Arc::new(Config { helo, mail_from, tls: TlsMode::Never, timeouts }));
    for piece in ["220 mx.example\r\n", "250-mx.example\r\n250 PIPELINING\r\n"] {
        session.on(SessionEvent::Received(piece.as_bytes()), Millis(0));
        session.sent(usize::MAX);
    }
    session
}

fn ask(session: &mut SmtpSession, recipients: &[Recipient]) {
    session.on(SessionEvent::Ask(Flight { recipients: recipients.to_vec(), rset: true }), Millis(0));
    session.sent(usize::MAX);
    let step = session.on(SessionEvent::Received(black_box(FLIGHT)), Millis(0));
    assert!(matches!(black_box(step), SessionStep::Answered(_)), "the flight was not answered");
}

fn main() {
    let Arguments { count, rounds } = Arguments::parse();
    let rules = Rules::embedded();
    for (what, bytes) in REPLIES {
        let mut parser = ReplyParser::new();
        let read = || (0..count).for_each(|_| drop(black_box(parser.next(&mut black_box(bytes)))));
        report(what, fastest(rounds, read), count);
        if let Some(Ok(reply)) = ReplyParser::new().next(&mut &*bytes) {
            let parties = DialogParties {
                recipient: "a@b.example",
                sender: "ask@probe.example",
                helo: "mx.probe.example",
                addresses: &[],
            };
            let read = || {
                for _ in 0..count / 100 {
                    black_box(rules.read_between(&reply, DialogStage::Rcpt, None, &parties));
                }
            };
            report(&format!("{what}: read"), fastest(rounds, read), count / 100);
        }
    }
    let recipients: Vec<Recipient> =
        ["a@x.example", "b@x.example"].iter().filter_map(|path| Recipient::new(path.as_bytes(), false).ok()).collect();
    let idle = idle();
    let play = || {
        let mut session = idle.clone();
        for _ in 0..count {
            ask(&mut session, &recipients);
        }
    };
    report("flight of two recipients", fastest(rounds, play), count);
}
