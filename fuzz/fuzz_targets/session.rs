//! Any server and any caller: the session never panics, answers each flight once and says only whole commands.
//!
//! The input is a script of events, cut at the byte 0xFF: the first byte of each part chooses the event, the rest is what
//! the server sends.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use probity_mail::smtp::session::{Config, SessionEvent, Flight, Recipient, SmtpSession, SessionStep, Timeouts, TlsMode};
use probity_mail::time::Millis;

const PATHS: [&str; 5] = ["a@x", "b@x", "\"c d\"@x", "e@y", "ü@x"];

fn session(first: u8) -> SmtpSession {
    let tls = match first % 3 {
        0 => TlsMode::Opportunistic,
        1 => TlsMode::Required,
        _ => TlsMode::Never,
    };
    let timeouts = Timeouts { banner_ms: 8_000, command_ms: 8_000, session_ms: 60_000, read_ms: 8_000 };
    SmtpSession::new(Arc::new(Config { helo: "probe".into(), mail_from: "p@probe".into(), tls, timeouts }))
}

fn flight(choice: u8) -> Flight {
    let count = usize::from(choice) % (PATHS.len() + 1);
    let recipients = PATHS[..count].iter().filter_map(|path| Recipient::new(path.as_bytes(), !path.is_ascii()).ok());
    Flight { recipients: recipients.collect(), rset: choice & 0x40 == 0 }
}

fn check_said(said: &[u8]) {
    let said = std::str::from_utf8(said).expect("a command that is no UTF-8");
    let Some(end) = said.rfind("\r\n") else {
        return;
    };
    for command in said[..end].split("\r\n") {
        assert!(!command.chars().any(char::is_control), "{command:?}");
        let known = [
            "EHLO probe",
            "HELO probe",
            "STARTTLS",
            "RSET",
            "QUIT",
            "MAIL FROM:<p@probe>",
            "MAIL FROM:<p@probe> SMTPUTF8",
        ];
        let path = command.strip_prefix("RCPT TO:<").and_then(|rest| rest.strip_suffix('>'));
        assert!(known.contains(&command) || path.is_some_and(|path| PATHS.contains(&path)), "{command:?}");
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((first, script)) = input.split_first() else {
        return;
    };
    let mut session = session(*first);
    let mut now = Millis(0);
    let (mut asked, mut answered) = (0_u32, 0_u32);
    for part in script.split(|byte| *byte == 0xff) {
        let Some((choice, bytes)) = part.split_first() else {
            continue;
        };
        let event = match choice % 8 {
            0 => SessionEvent::Closed,
            1 => SessionEvent::TlsReady,
            2 => SessionEvent::TlsFailed,
            3 => SessionEvent::Quit,
            4 => {
                now = now + i64::from(*choice) * 100;
                SessionEvent::Tick
            }
            5 => {
                asked += 1;
                SessionEvent::Ask(flight(bytes.first().copied().unwrap_or(*choice)))
            }
            _ => SessionEvent::Received(bytes),
        };
        answered += u32::from(matches!(session.on(event, now), SessionStep::Answered(_)));
        check_said(session.outgoing());
        session.sent(session.outgoing().len());
    }
    answered += u32::from(matches!(session.on(SessionEvent::Closed, now), SessionStep::Answered(_)));
    assert_eq!(asked, answered);
    assert!(session.end().is_some());
});
