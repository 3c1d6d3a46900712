//! Scripted dialogues between a session and a server: one file of `dialogues/` for each quirk of servers.
//!
//! A script is read line by line; `#` starts a comment line. The connection is open at the first line that is no `config`.
//!
//! | Line | Meaning |
//! |---|---|
//! | `config key=value ...` | `helo`, `from`, `tls` (`opportunistic`, `required`, `never`), `banner`, `command`, `session`, `read` (ms) |
//! | `S: text` | the server sends the text and CRLF, in one piece; `\r \n \t \0 \\ \xHH` are escapes |
//! | `S= text` | the same without CRLF |
//! | `S* n text` | `S: text` n times, each time in a piece of its own |
//! | `S~ n text` | one piece that holds the text n times, without CRLF |
//! | `C: text` | the session has said exactly this line |
//! | `ask a@x b@x`, `ask-open a@x` | asks with RSET, without RSET; a recipient with non-ASCII letters needs SMTPUTF8 |
//! | `ask-many n` | asks for n recipients `u0@x.example`, `u1@x.example`, ... |
//! | `C-mail`, `C-rcpt n m` | the session has said MAIL; RCPT for `un@x.example` to `u(m-1)@x.example` |
//! | `quit`, `!close`, `!tls`, `!tls-failed`, `!tick`, `!wait ms` | the events; `!wait` moves the clock and ticks |
//! | `!drip ms text` | sends the text byte by byte, each `ms` later, until the session has something to say |
//! | `expect ready`, `expect starttls`, `expect wait` | the last step |
//! | `expect answered 250 550 mail:451 utf8 unanswered` | the last step: an entry for each recipient |
//! | `expect answered-many n 250` | the last step: n equal entries |
//! | `expect ended quit`, `refused rcpt 421`, `closed mail`, `timed-out ehlo`, `protocol rcpt`, `tls-failed`, ... | the end |
//! | `expect tls yes`, `expect waits 3`, `expect caps pipelining rcptmax=2`, `expect deadline-in ms`, `expect text ...` | what the session knows |
//!
//! What the session says must be consumed by `C:` lines before the server speaks, and each step that is not `wait` must be
//! expected. So a script fails on anything that it does not foresee.

#![expect(clippy::unwrap_used, reason = "a script that cannot be read fails its test")]

use std::sync::Arc;

use probity_mail::classify::DialogStage;
use probity_mail::smtp::session::{
    Config, End, Flight, RcptAnswer, Recipient, SessionEvent, SessionStep, SmtpSession, Timeouts, TlsMode,
};
use probity_mail::time::Millis;

const PATIENT: Timeouts = Timeouts { banner_ms: 60_000, command_ms: 60_000, session_ms: 300_000, read_ms: 60_000 };

fn config() -> Config {
    Config {
        helo: "probe.example".into(),
        mail_from: "ask@probe.example".into(),
        tls: TlsMode::Opportunistic,
        timeouts: PATIENT,
    }
}

fn recipient(address: &str) -> Recipient {
    Recipient::new(address.as_bytes(), !address.is_ascii()).unwrap()
}

fn flight(addresses: &[&str], rset: bool) -> Flight {
    Flight { recipients: addresses.iter().map(|address| recipient(address)).collect(), rset }
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("u{number}@x.example")).collect()
}

/// A script being played.
struct Player {
    config: Config,
    session: Option<SmtpSession>,
    now: Millis,
    step: SessionStep,
    /// How often the session waited for the server.
    waits: u32,
}

impl Player {
    fn new() -> Self {
        Self { config: config(), session: None, now: Millis(1_000), step: SessionStep::NeedInput, waits: 0 }
    }

    fn session(&mut self) -> &mut SmtpSession {
        if self.session.is_none() {
            self.session = Some(SmtpSession::new(Arc::new(self.config.clone())));
            self.on(SessionEvent::Opened);
        }
        self.session.as_mut().unwrap()
    }

    fn on(&mut self, event: SessionEvent<'_>) {
        assert_eq!(self.step, SessionStep::NeedInput, "a step was not expected");
        let now = self.now;
        self.step = self.session().on(event, now);
        if self.step == SessionStep::NeedInput {
            self.waits += 1;
        }
    }

    fn play(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        if word != "config" {
            self.session();
        }
        match word {
            "config" => self.configure(rest),
            "S:" => self.serve(&[&unescape(rest)[..], b"\r\n"].concat()),
            "S=" => self.serve(&unescape(rest)),
            "S*" => {
                let (count, text) = rest.split_once(' ').unwrap();
                for _ in 0..count.parse().unwrap() {
                    self.serve(&[&unescape(text)[..], b"\r\n"].concat());
                }
            }
            "S~" => {
                let (count, text) = rest.split_once(' ').unwrap();
                self.serve(&unescape(text).repeat(count.parse().unwrap()));
            }
            "C:" => self.heard(rest),
            "C-mail" => self.heard("MAIL FROM:<ask@probe.example>"),
            "C-rcpt" => {
                let (from, to) = rest.split_once(' ').unwrap();
                for number in from.parse::<usize>().unwrap()..to.parse().unwrap() {
                    self.heard(&format!("RCPT TO:<u{number}@x.example>"));
                }
            }
            "ask" => self.on(SessionEvent::Ask(flight(&rest.split(' ').collect::<Vec<_>>(), true))),
            "ask-open" => self.on(SessionEvent::Ask(flight(&rest.split(' ').collect::<Vec<_>>(), false))),
            "ask-many" => {
                let addresses = many(rest.parse().unwrap());
                self.on(SessionEvent::Ask(flight(&addresses.iter().map(String::as_str).collect::<Vec<_>>(), true)));
            }
            "quit" => self.on(SessionEvent::Quit),
            "expect" => self.expect(rest),
            _ => self.happen(word, rest),
        }
    }

    fn happen(&mut self, word: &str, rest: &str) {
        match word {
            "!close" => self.on(SessionEvent::Closed),
            "!tls" => self.on(SessionEvent::TlsReady),
            "!tls-failed" => self.on(SessionEvent::TlsFailed),
            "!tick" => self.on(SessionEvent::Tick),
            "!wait" => {
                self.now = self.now + rest.parse().unwrap();
                self.on(SessionEvent::Tick);
            }
            "!drip" => {
                let (pause, text) = rest.split_once(' ').unwrap();
                for byte in unescape(text) {
                    self.now = self.now + pause.parse().unwrap();
                    self.on(SessionEvent::Received(&[byte]));
                    if self.step != SessionStep::NeedInput {
                        break;
                    }
                }
            }
            _ => panic!("not a line of a script"),
        }
    }

    fn configure(&mut self, settings: &str) {
        assert!(self.session.is_none(), "config comes first");
        for setting in settings.split(' ') {
            let (key, value) = setting.split_once('=').unwrap();
            let times = &mut self.config.timeouts;
            match key {
                "helo" => self.config.helo = value.into(),
                "from" => self.config.mail_from = value.into(),
                "tls" => {
                    self.config.tls = match value {
                        "opportunistic" => TlsMode::Opportunistic,
                        "required" => TlsMode::Required,
                        "never" => TlsMode::Never,
                        _ => panic!("no such mode"),
                    }
                }
                "banner" => times.banner_ms = value.parse().unwrap(),
                "command" => times.command_ms = value.parse().unwrap(),
                "session" => times.session_ms = value.parse().unwrap(),
                "read" => times.read_ms = value.parse().unwrap(),
                _ => panic!("no such setting"),
            }
        }
    }

    fn serve(&mut self, bytes: &[u8]) {
        let unheard = String::from_utf8_lossy(self.session().outgoing()).into_owned();
        assert_eq!(unheard, "", "the script did not expect this");
        self.on(SessionEvent::Received(bytes));
    }

    fn heard(&mut self, line: &str) {
        let session = self.session();
        let end =
            session.outgoing().windows(2).position(|pair| pair == b"\r\n").expect("the session says nothing more");
        let said = String::from_utf8(session.outgoing()[..end].to_vec()).unwrap();
        assert_eq!(said, line);
        session.sent(end + 2);
    }

    fn expect(&mut self, what: &str) {
        let (kind, rest) = what.split_once(' ').unwrap_or((what, ""));
        let rest = rest.trim();
        let now = self.now;
        if kind == "answered-many" {
            let (count, answer) = rest.split_once(' ').unwrap();
            return self.expect_step(&format!("answered{}", format!(" {answer}").repeat(count.parse().unwrap())));
        }
        let found = match kind {
            "tls" => {
                if self.session().tls() {
                    "yes".to_owned()
                } else {
                    "no".to_owned()
                }
            }
            "waits" => self.waits.to_string(),
            "caps" => capabilities(self.session()),
            "deadline-in" => self.session().deadline().since(now).to_string(),
            "text" => self.session().last_reply().map(|reply| reply.text.clone()).unwrap_or_default(),
            _ => return self.expect_step(what),
        };
        assert_eq!(found, rest);
    }

    fn expect_step(&mut self, what: &str) {
        self.session();
        if what.starts_with("ended") && !matches!(self.step, SessionStep::Ended(_)) {
            self.on(SessionEvent::Tick);
        }
        let step = std::mem::replace(&mut self.step, SessionStep::NeedInput);
        assert_eq!(describe(&step), what, "{step:?}");
    }

    fn finish(mut self) {
        assert_eq!(self.step, SessionStep::NeedInput, "a step was not expected");
        let unheard = String::from_utf8_lossy(self.session().outgoing()).into_owned();
        assert_eq!(unheard, "", "the script did not expect this");
    }
}

fn capabilities(session: &SmtpSession) -> String {
    let offered = session.capabilities();
    let flags = [
        (offered.pipelining, "pipelining"),
        (offered.starttls, "starttls"),
        (offered.smtputf8, "smtputf8"),
        (offered.eight_bit_mime, "8bitmime"),
        (offered.enhanced_status_codes, "enhancedstatuscodes"),
    ];
    let numbers = [
        (offered.size, "size"),
        (offered.rcpt_max.map(u64::from), "rcptmax"),
        (offered.mail_max.map(u64::from), "mailmax"),
        (offered.rcpt_domain_max.map(u64::from), "rcptdomainmax"),
    ];
    let flags = flags.into_iter().filter(|(on, _)| *on).map(|(_, name)| name.to_owned());
    let numbers = numbers.into_iter().filter_map(|(value, name)| value.map(|value| format!("{name}={value}")));
    flags.chain(numbers).collect::<Vec<_>>().join(" ")
}

fn describe(step: &SessionStep) -> String {
    match step {
        SessionStep::NeedInput => "wait".into(),
        SessionStep::StartTls => "starttls".into(),
        SessionStep::Ready => "ready".into(),
        SessionStep::Answered(answers) => {
            format!("answered {}", answers.iter().map(describe_answer).collect::<Vec<_>>().join(" ")).trim().into()
        }
        SessionStep::Ended(end) => format!("ended {}", describe_end(end)),
    }
}

fn describe_answer(answer: &RcptAnswer) -> String {
    match answer {
        RcptAnswer::Reply(reply) => reply.code.to_string(),
        RcptAnswer::MailRefused { reply, .. } => format!("mail:{}", reply.code),
        RcptAnswer::NeedsSmtpUtf8 => "utf8".into(),
        RcptAnswer::Unanswered => "unanswered".into(),
    }
}

fn describe_end(end: &End) -> String {
    match end {
        End::Quit => "quit".into(),
        End::Refused { stage, reply } => format!("refused {} {}", name(*stage), reply.code),
        End::Closed { stage } => format!("closed {}", name(*stage)),
        End::TimedOut { stage } => format!("timed-out {}", name(*stage)),
        End::Protocol { stage, what } => format!("protocol {}: {what}", name(*stage)),
        End::TlsFailed => "tls-failed".into(),
        End::TlsUnavailable => "tls-unavailable".into(),
        End::Injected => "injected".into(),
    }
}

fn name(stage: DialogStage) -> &'static str {
    match stage {
        DialogStage::Connect => "connect",
        DialogStage::Ehlo => "ehlo",
        DialogStage::StartTls => "starttls",
        DialogStage::Mail => "mail",
        DialogStage::Rcpt => "rcpt",
        DialogStage::Unsolicited => "unsolicited",
    }
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next().unwrap() {
            b'r' => b'\r',
            b'n' => b'\n',
            b't' => b'\t',
            b'0' => 0,
            b'\\' => b'\\',
            b'x' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            _ => panic!("no such escape"),
        });
    }
    out
}

#[test]
fn every_dialogue_goes_as_written() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues");
    let mut scripts: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.sort();
    let mut failures = Vec::new();
    for script in &scripts {
        if let Err(failure) = run(script) {
            failures.push(failure);
        }
    }
    assert!(scripts.len() >= 30, "the dialogues are missing");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Plays one script; the error names the line.
fn run(script: &std::path::Path) -> Result<(), String> {
    let text = std::fs::read_to_string(script).unwrap();
    let mut player = Player::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let place = |number: usize, line: &str| format!("{}:{}: {line}", script.display(), number + 1);
    for (number, line) in lines {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| player.play(line)));
        outcome.map_err(|panic| format!("{}\n    {}", place(number, line), message(&*panic)))?;
    }
    let finished = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| player.finish()));
    finished.map_err(|panic| format!("{}\n    {}", script.display(), message(&*panic)))
}

fn message(panic: &dyn std::any::Any) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").replace('\n', "\n    ")
}
