//! Properties that hold for any server, honest or not. What each quirk leads to is scripted in `tests/dialogues`.

use proptest::prelude::*;

use super::*;

fn config() -> Arc<Config> {
    let timeouts = Timeouts { banner_ms: 8_000, command_ms: 8_000, session_ms: 60_000, read_ms: 8_000 };
    let tls = TlsMode::Opportunistic;
    Arc::new(Config { helo: "probe.example".into(), mail_from: "ask@probe.example".into(), tls, timeouts })
}

fn flight(recipients: &[&str]) -> Flight {
    let recipients = recipients.iter().map(|path| Recipient::new(path.as_bytes(), !path.is_ascii()).unwrap()).collect();
    Flight { recipients, rset: true }
}

/// What a server said in a recorded session, one entry for each time that it was waited for.
struct Recording {
    said: &'static [&'static str],
    flights: [&'static [&'static str]; 2],
}

const PIPELINED: Recording = Recording {
    said: &[
        "220-mx.example\r\n220 ready\r\n",
        "250-mx.example\r\n250-PIPELINING\r\n250 SIZE 1000\r\n",
        "250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n550-5.1.1 no\r\n550 5.1.1 such user\r\n450 4.2.0 later\r\n250 2.0.0 Ok\r\n",
        "450 4.1.8 no\r\n503 5.5.1 MAIL first\r\n250 Ok\r\n",
        "221 2.0.0 Bye\r\n",
    ],
    flights: [&["a@x.example", "b@x.example", "c@x.example"], &["d@x.example"]],
};

const LOCKSTEP: Recording = Recording {
    said: &[
        "220 mx.example\r\n",
        "502 5.5.1 what?\r\n",
        "250 mx.example\r\n",
        "250 ok\r\n",
        "550 no\r\n",
        "252 perhaps\r\n",
        "250 ok\r\n",
        "250 ok\r\n",
        "250 ok\r\n",
        "250 ok\r\n",
        "221 bye\r\n",
    ],
    flights: [&["a@x.example", "b@x.example"], &["c@x.example"]],
};

/// Plays a recording up to its byte `cut`, in pieces of at most `piece` bytes; then `last` happens. Gives the answers and the end.
fn play(recording: &Recording, cut: usize, piece: usize, last: &SessionEvent<'_>) -> (Vec<Vec<RcptAnswer>>, End) {
    let now = Millis(0);
    let mut session = SmtpSession::new(config());
    let mut flights = recording.flights.iter();
    let mut answers = Vec::new();
    let mut pieces = recording.said.iter().flat_map(|said| said.as_bytes().chunks(piece));
    let mut left = cut;
    let mut step = session.on(SessionEvent::Opened, now);
    loop {
        step = match step {
            SessionStep::Ready => match flights.next() {
                Some(recipients) => session.on(SessionEvent::Ask(flight(recipients)), now),
                None => session.on(SessionEvent::Quit, now),
            },
            SessionStep::Answered(found) => {
                answers.push(found);
                session.on(SessionEvent::Tick, now)
            }
            SessionStep::Ended(end) => return (answers, end),
            SessionStep::StartTls => panic!("STARTTLS was not offered"),
            SessionStep::NeedInput => {
                session.sent(usize::MAX);
                let bytes = pieces.next().unwrap_or_default();
                let bytes = &bytes[..bytes.len().min(left)];
                left -= bytes.len();
                match bytes {
                    [] if matches!(last, SessionEvent::Tick) => session.on(SessionEvent::Tick, session.deadline()),
                    [] => session.on(last.clone(), now),
                    bytes => session.on(SessionEvent::Received(bytes), now),
                }
            }
        };
    }
}

fn length(recording: &Recording) -> usize {
    recording.said.iter().map(|said| said.len()).sum()
}

#[test]
fn recordings_go_through() {
    let codes = |answers: &[Vec<RcptAnswer>]| -> Vec<u16> {
        let code = |answer: &RcptAnswer| match answer {
            RcptAnswer::Reply(reply) => reply.code,
            RcptAnswer::MailRefused { reply, .. } => reply.code + 1_000,
            RcptAnswer::NeedsSmtpUtf8 | RcptAnswer::Unanswered => 0,
        };
        answers.iter().flatten().map(code).collect()
    };
    let (answers, end) = play(&PIPELINED, usize::MAX, usize::MAX, &SessionEvent::Closed);
    assert_eq!((codes(&answers), end), (vec![250, 550, 450, 1_450], End::Quit));
    let (answers, end) = play(&LOCKSTEP, usize::MAX, usize::MAX, &SessionEvent::Closed);
    assert_eq!((codes(&answers), end), (vec![550, 252, 250], End::Quit));
}

#[test]
fn a_transcript_has_what_was_said_while_it_was_wanted_and_no_more_than_anybody_reads() {
    let now = Millis(7);
    let mut session = SmtpSession::new(config());
    let say = |session: &mut SmtpSession, text: &str| {
        session.sent(usize::MAX);
        session.on(SessionEvent::Received(text.as_bytes()), now)
    };
    session.transcribe();
    session.on(SessionEvent::Opened, now);
    say(&mut session, "220 mx.example ready\r\n");
    assert_eq!(say(&mut session, "250-mx.example\r\n250 PIPELINING\r\n"), SessionStep::Ready);
    let said = session.take_transcript();
    let heard: Vec<_> = said.iter().map(|said| (said.stage, said.code, said.text.as_str(), said.at)).collect();
    let greeting = "mx.example  PIPELINING";
    assert_eq!(heard, [(DialogStage::Connect, 220, "mx.example ready", now), (DialogStage::Ehlo, 250, greeting, now)]);
    // Nobody asks for this flight's.
    session.on(SessionEvent::Ask(flight(&["a@x.example"])), now);
    say(&mut session, "250 ok\r\n250 ok\r\n250 ok\r\n");
    assert_eq!(session.take_transcript(), []);
    session.transcribe();
    session.on(SessionEvent::Ask(flight(&["b@x.example"; 60])), now);
    say(&mut session, &format!("250 ok\r\n{}250 ok\r\n", "550 5.1.1 no\r\n".repeat(60)));
    let said = session.take_transcript();
    assert_eq!(
        (said.len(), said[0].stage, said[1].stage, said[1].code),
        (24, DialogStage::Mail, DialogStage::Rcpt, 550)
    );
}

#[test]
fn the_cut_of_what_is_received_does_not_matter() {
    for recording in [PIPELINED, LOCKSTEP] {
        let whole = play(&recording, usize::MAX, usize::MAX, &SessionEvent::Closed);
        for piece in 1..60 {
            assert_eq!(play(&recording, usize::MAX, piece, &SessionEvent::Closed), whole, "pieces of {piece}");
        }
    }
}

/// Cut after any byte, by a closed connection or by silence, a session gives the answers that it would have given, or none.
#[test]
fn a_session_cut_anywhere_gives_the_same_answers_or_none() {
    for recording in [PIPELINED, LOCKSTEP] {
        let (whole, _) = play(&recording, usize::MAX, usize::MAX, &SessionEvent::Closed);
        let whole = whole.concat();
        for last in [SessionEvent::Closed, SessionEvent::Tick] {
            for cut in 0..length(&recording) {
                let (answers, _) = play(&recording, cut, usize::MAX, &last);
                for (answer, expected) in answers.concat().iter().zip(&whole) {
                    let fine = answer == expected || *answer == RcptAnswer::Unanswered;
                    assert!(fine, "cut after {cut}: {answer:?} for {expected:?}");
                }
            }
        }
    }
}

#[test]
fn a_parting_quit_never_ends_a_command_that_is_half_written() {
    for (written, parting) in [(0, "QUIT\r\n"), (3, ""), (usize::MAX, "QUIT\r\n")] {
        let mut session = SmtpSession::new(config());
        session.on(SessionEvent::Received(b"220 mx\r\n"), Millis(0));
        session.sent(written);
        let step = session.on(SessionEvent::Received(b"554 no\r\n"), Millis(0));
        assert!(matches!(step, SessionStep::Ended(End::Refused { .. })));
        assert_eq!(session.outgoing(), parting.as_bytes(), "{written} bytes written");
    }
}

/// What may happen to a session under a hostile server and a careless caller.
#[derive(Clone, Debug)]
enum Happening {
    Bytes(Vec<u8>),
    Wait(i64),
    Ask(usize, bool),
    Sent(usize),
    Closed,
    TlsReady,
    TlsFailed,
    Quit,
    Opened,
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => Just(b"250 ok\r\n".to_vec()),
        4 => Just(b"220 mx.example\r\n".to_vec()),
        4 => Just(b"250-mx\r\n250-PIPELINING\r\n250-SMTPUTF8\r\n250 LIMITS RCPTMAX=3 MAILMAX=9\r\n".to_vec()),
        2 => Just(b"250-mx\r\n250 STARTTLS\r\n".to_vec()),
        4 => Just(b"550 5.1.1 no\r\n".to_vec()),
        1 => Just(b"421 bye\r\n".to_vec()),
        1 => Just(b"221 bye\r\n".to_vec()),
        2 => "[245][0-9]{2}[- ][ -~]{0,20}\r\n".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..60),
        1 => Just(vec![b'x'; 1_500]),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        12 => proptest::collection::vec(bytes(), 1..6).prop_map(|pieces| Happening::Bytes(pieces.concat())),
        12 => bytes().prop_map(Happening::Bytes),
        6 => (0_usize..8, any::<bool>()).prop_map(|(count, rset)| Happening::Ask(count, rset)),
        3 => (0_i64..9_000).prop_map(Happening::Wait),
        3 => (0_usize..300).prop_map(Happening::Sent),
        1 => Just(Happening::Closed),
        2 => Just(Happening::TlsReady),
        1 => Just(Happening::TlsFailed),
        1 => Just(Happening::Quit),
        1 => Just(Happening::Opened),
    ]
}

/// The way to an idle session, so that flights are reached, and then anything.
fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let opening = ["220 mx\r\n", "250-mx\r\n250-PIPELINING\r\n250 SMTPUTF8\r\n"];
    let opening = opening.map(|line| Happening::Bytes(line.as_bytes().to_vec()));
    (0_usize..=2, proptest::collection::vec(happening(), 0..40)).prop_map(move |(opened, rest)| {
        let start = std::iter::once(Happening::Opened).chain(opening[..opened].iter().cloned());
        start.chain(rest).collect()
    })
}

const PATHS: [&str; 8] = ["u0@x", "u1@x", "u2@x", "uü@x", "\"u 4\"@x", "u5@y", "u6@x", "u7@x"];

/// Every line that was said is a command of ours: no byte that ends a line stands anywhere but at the end of a command.
///
/// What follows the last line end is a command that is not written to its end.
fn check_said(said: &[u8]) {
    let said = std::str::from_utf8(said).unwrap();
    let whole = said.rfind("\r\n").map_or("", |end| &said[..end]);
    for command in whole.split("\r\n").filter(|_| !whole.is_empty()) {
        let known = match command.split_once(' ') {
            None => ["STARTTLS", "RSET", "QUIT"].contains(&command),
            Some(("EHLO" | "HELO", name)) => name == "probe.example",
            Some(("MAIL", rest)) => ["FROM:<ask@probe.example>", "FROM:<ask@probe.example> SMTPUTF8"].contains(&rest),
            Some(("RCPT", rest)) => PATHS.iter().any(|path| *rest == format!("TO:<{path}>")),
            Some(_) => false,
        };
        assert!(known, "{command:?}");
    }
}

/// A session and what an observer of it remembers.
struct Observed {
    session: SmtpSession,
    now: Millis,
    said: Vec<u8>,
    asked: usize,
    answered: usize,
    ended: Option<End>,
}

impl Observed {
    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::Bytes(bytes) => self.on(SessionEvent::Received(bytes)),
            Happening::Wait(ms) => {
                self.now = self.now + *ms;
                self.on(SessionEvent::Tick);
            }
            Happening::Ask(count, rset) => {
                self.asked += 1;
                self.on(SessionEvent::Ask(Flight { rset: *rset, ..flight(&PATHS[..*count]) }));
            }
            Happening::Sent(count) => {
                let count = (*count).min(self.session.outgoing().len());
                self.said.extend_from_slice(&self.session.outgoing()[..count]);
                self.session.sent(count);
            }
            Happening::Closed => self.on(SessionEvent::Closed),
            Happening::TlsReady => self.on(SessionEvent::TlsReady),
            Happening::TlsFailed => self.on(SessionEvent::TlsFailed),
            Happening::Quit => self.on(SessionEvent::Quit),
            Happening::Opened => self.on(SessionEvent::Opened),
        }
    }

    fn on(&mut self, event: SessionEvent<'_>) {
        let recipients = if let SessionEvent::Ask(flight) = &event { Some(flight.recipients.len()) } else { None };
        match self.session.on(event, self.now) {
            SessionStep::Answered(answers) => {
                self.answered += 1;
                assert!(recipients.is_none_or(|count| count == answers.len()));
            }
            SessionStep::Ended(end) => {
                assert!(self.ended.as_ref().is_none_or(|before| *before == end), "the end changed");
                self.ended = Some(end);
            }
            SessionStep::Ready | SessionStep::StartTls | SessionStep::NeedInput => assert_eq!(self.ended, None),
        }
        check_said(&[&self.said, self.session.outgoing()].concat());
        assert!(self.session.outgoing().len() <= 100 * 512);
        assert!(
            self.session.end().is_some()
                || self.session.stage() == DialogStage::Unsolicited
                || self.session.deadline() > self.now
        );
    }
}

proptest! {
    #[test]
    fn no_server_and_no_caller_can_break_a_session(happenings in happenings()) {
        let session = SmtpSession::new(config());
        let mut observed = Observed { session, now: Millis(0), said: Vec::new(), asked: 0, answered: 0, ended: None };
        for happening in &happenings {
            observed.happen(happening);
        }
        observed.on(SessionEvent::Closed);
        observed.on(SessionEvent::Closed);
        prop_assert_eq!(observed.asked, observed.answered);
        prop_assert!(observed.ended.is_some());
    }
}
