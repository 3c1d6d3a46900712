//! Servers that take few recipients in a transaction, or few transactions in a session.

use super::*;

/// A server with limits. Every second recipient is missing, unless it accepts everybody.
struct Server {
    rcpt: usize,
    /// Recipients that a session takes, and how many the open one has.
    session: usize,
    had: usize,
    mails: u32,
    rcpt_full: &'static str,
    mail_full: &'static str,
    accepts_all: bool,
    sessions: u32,
    rcpts: usize,
}

const UNLIMITED: Server = Server {
    rcpt: usize::MAX,
    session: usize::MAX,
    had: 0,
    mails: u32::MAX,
    rcpt_full: "452 4.5.3 Too many recipients",
    mail_full: "503 5.5.1 EHLO/HELO first please",
    accepts_all: false,
    sessions: 0,
    rcpts: 0,
};

impl Server {
    /// The answers to a flight in a session that has taken so many transactions.
    fn answers(&mut self, (recipients, random): &(Vec<u32>, bool), taken: u32) -> Vec<RcptAnswer> {
        let all = recipients.iter().map(Some).chain(random.then_some(None));
        self.rcpts += recipients.len() + usize::from(*random);
        if taken >= self.mails {
            let RcptAnswer::Reply(refused) = reply(self.mail_full) else { panic!("a reply") };
            let refused = Arc::new(refused);
            return all.map(|_| RcptAnswer::MailRefused { reply: refused.clone(), taken }).collect();
        }
        let (mut accepted, mut closed) = (0, false);
        let answer = |recipient: Option<&u32>| {
            let exists = self.accepts_all || recipient.is_some_and(|recipient| recipient % 2 == 0);
            if closed {
                RcptAnswer::Unanswered
            } else if accepted >= self.rcpt || self.had >= self.session {
                closed = self.rcpt_full.starts_with("421");
                reply(self.rcpt_full)
            } else {
                accepted += usize::from(exists);
                self.had += 1;
                reply(if exists { YES } else { NO })
            }
        };
        all.map(answer).collect()
    }

    /// Runs a plan to its end.
    fn run(&mut self, recipients: u32) -> Vec<String> {
        let mut plan = plan(recipients);
        let (mut taken, mut room, mut said) = (0, None, Vec::new());
        for _ in 0..500 {
            match plan.next(room) {
                ProbeAction::Resolve { exchanger } => plan.resolved(exchanger, ResolvedHost::Addresses(vec![ip(1)])),
                ProbeAction::Dial { .. } => {
                    plan.linked();
                    self.sessions += 1;
                    self.had = 0;
                    (taken, room) = (0, Some(100));
                }
                ProbeAction::Ask { recipients, random } => {
                    let flight = (recipients, random);
                    let answers = plan.check_group(self.answers(&flight, taken), None);
                    taken += u32::from(taken < self.mails);
                    let ends = |answer: &RcptAnswer| match answer {
                        RcptAnswer::Reply(reply) => reply.code == 421,
                        RcptAnswer::MailRefused { reply, .. } => reply.code == 421,
                        _ => false,
                    };
                    let end =
                        answers.iter().any(ends).then(|| End::Refused { stage: DialogStage::Rcpt, reply: busy() });
                    room = room.filter(|_| end.is_none());
                    let reader =
                        FlightReader { rules: Rules::embedded(), us: DialogParties::default(), recipients: &[] };
                    let heard = plan.answered(&flight.0, answers, flight.1, end.as_ref(), &reader);
                    assert_eq!(heard.about_us, None);
                }
                ProbeAction::Leave => {
                    plan.left();
                    room = None;
                }
                ProbeAction::Done => {
                    said.extend(reasons(&mut plan));
                    said.sort();
                    return said.into_iter().map(|(_, reason)| reason).collect();
                }
            }
            said.extend(reasons(&mut plan));
        }
        panic!("a plan without an end")
    }
}

fn wanted(recipients: u32) -> Vec<&'static str> {
    (0..recipients).map(|n| if n % 2 == 0 { "valid" } else { "nonexistent" }).collect()
}

#[test]
fn lists_come_to_the_verdicts_of_single_calls_whatever_a_transaction_takes() {
    for rcpt_full in [
        "452 4.5.3 Too many recipients",
        "452 Too many recipients",
        "450 too many recipients",
        "451 4.5.3 too many recipients in this transaction",
        "421 4.5.3 too many recipients",
        "421 Too many recipients",
        "550 5.5.3 too many recipients",
        "550 Too many recipients",
        "552 Too many recipients",
        "553 too many recipients",
    ] {
        for (limit, count) in [(1, 1), (1, 2), (1, 3), (2, 4), (3, 9), (5, 10), (1, 45), (7, 45)] {
            let mut server = Server { rcpt: limit, rcpt_full, ..UNLIMITED };
            assert_eq!(server.run(count), wanted(count), "{rcpt_full}: {limit}, {count}");
        }
    }
}

#[test]
fn what_a_transaction_takes_is_learned() {
    let mut server = Server { rcpt: 1, ..UNLIMITED };
    server.run(18);
    // The first flight of ten brought one answer; a random recipient followed alone.
    assert_eq!((server.rcpts, server.sessions), (10 + 1 + 17, 1));
}

#[test]
fn lists_come_to_the_verdicts_of_single_calls_whatever_a_session_takes() {
    for rcpt_full in
        ["421 4.3.2 closing", "421 Too many recipients", "452 4.5.3 Too many recipients", "550 Too many recipients"]
    {
        for (session, rcpt) in [(1, 9), (2, 1), (5, 9), (12, 9), (12, 3)] {
            let mut server = Server { rcpt, session, rcpt_full, ..UNLIMITED };
            assert_eq!(server.run(45), wanted(45), "{rcpt_full}: {session} {rcpt}");
        }
    }
}

#[test]
fn a_server_that_accepts_everybody_is_found_out_whatever_it_takes() {
    for (rcpt, mails) in [(1, u32::MAX), (2, u32::MAX), (1, 1), (3, 1)] {
        let mut server = Server { rcpt, mails, accepts_all: true, ..UNLIMITED };
        assert_eq!(server.run(9), ["accept_all"; 9], "{rcpt} {mails}");
    }
}

#[test]
fn a_session_that_takes_no_more_transactions_is_followed_by_another() {
    for mail_full in [
        "503 5.5.1 EHLO/HELO first please",
        "503 Bad sequence of commands",
        "421 4.7.0 Too many messages in this session",
        "421 Service not available, closing transmission channel",
        "421 too many messages in this connection",
        "452 Too many messages in this session",
        "452 4.3.2 Only one transaction per session",
        "451 Max messages per connection reached",
        "421 too many mails in this session",
        "554 Too many transactions",
    ] {
        for (mails, rcpt, count) in [(1, usize::MAX, 45), (2, usize::MAX, 45), (1, 1, 9), (2, 3, 20)] {
            let mut server = Server { rcpt, mails, mail_full, ..UNLIMITED };
            assert_eq!(server.run(count), wanted(count), "{mail_full}: {mails}, {rcpt}, {count}");
        }
    }
}

#[test]
fn a_refusal_of_us_at_a_later_mail_stays_one() {
    for (text, taken, refused) in [
        ("503 5.5.1 EHLO/HELO first please", 0, true),
        ("421 4.7.1 Client host [203.0.113.5] blocked using zen.spamhaus.org", 1, true),
        ("452 4.7.1 Rate limit exceeded, try again in 20 minutes", 1, true),
        ("451 4.7.1 Rate limit exceeded", 1, true),
        ("421 Too many connections", 1, false),
    ] {
        let mut plan = plan(20);
        link(&mut plan);
        let flight = ask(&mut plan);
        let RcptAnswer::Reply(said) = reply(text) else { panic!("a reply") };
        let said = Arc::new(said);
        let answers = (0..=flight.0.len()).map(|_| RcptAnswer::MailRefused { reply: said.clone(), taken }).collect();
        let reader = FlightReader { rules: Rules::embedded(), us: DialogParties::default(), recipients: &[] };
        let heard = plan.answered(&flight.0, answers, flight.1, None, &reader);
        assert_eq!((heard.about_us.is_some(), heard.mails_max), (refused, Some(taken).filter(|_| !refused)), "{text}");
    }
}
