//! One SMTP connection from the MX host's side: lines in, replies out, no I/O.
//!
//! [`ServerSession::line`] appends the reply to a buffer and returns what follows ([`Flow`]); `serve` owns the socket, waits and
//! sends. So the replies to a flight of pipelined commands are sent in one write, and the honest path allocates nothing per
//! recipient. Protocol violations are applied to a finished reply (`fault`), so that the honest server stays readable.

mod fault;
mod greeting;
mod path;
mod recipient;
pub(crate) mod serve;
mod tls;

use std::net::IpAddr;
use std::sync::Arc;

use probity_mail::rng::Rng;

use self::path::Path;
use crate::dialect::{Phrase, ReplyTemplate, Scene, ServerDialect};
use crate::personality::{AfterRefusal, At, FaultKind, Personality, Pipelining, Tls};
use crate::record::{HostState, SessionTally};
use crate::world::{Responsible, World};

/// Server's action after a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Then {
    /// Reads the next line.
    #[default]
    Continue,
    /// Sets TLS up.
    StartTls,
    /// Closes the connection.
    Close,
    /// Resets the connection.
    Reset,
    /// Never replies again.
    Silence,
    /// Sends lines forever.
    Endless,
}

/// Delay of a reply, and the action after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Delay before the reply, in milliseconds.
    pub wait_ms: u64,
    pub then: Then,
}

impl From<Then> for Flow {
    fn from(then: Then) -> Self {
        Self { wait_ms: 0, then }
    }
}

const CONTINUE: Flow = Flow { wait_ms: 0, then: Then::Continue };
const CLOSE: Flow = Flow { wait_ms: 0, then: Then::Close };

/// Postfix's delay before each reply to a client with many errors, in milliseconds.
const ERROR_DELAY_MS: u64 = 1_000;

/// Parties of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionParties {
    pub world: Arc<World>,
    pub state: Arc<HostState>,
    pub personality: Arc<Personality>,
    pub dialect: Arc<ServerDialect>,
    pub host: Arc<str>,
    pub client: IpAddr,
    /// Open connections of this client, including this one.
    pub open: u64,
}

/// State since MAIL.
#[derive(Debug)]
struct Transaction {
    sender: String,
    /// Whether internationalized addresses are allowed (RFC 6531).
    utf8: bool,
    /// Recipients accepted so far.
    accepted: u32,
    /// Domain of the last accepted one.
    domain: String,
}

#[derive(Debug)]
pub(crate) struct ServerSession {
    parties: ConnectionParties,
    rng: Rng,
    tls: bool,
    helo: String,
    transaction: Option<Transaction>,
    in_data: bool,
    /// Transactions on this connection.
    mails: u32,
    /// RCPT commands on this connection.
    rcpts: u32,
    errors: u32,
    /// Domain of the last recipient, and whether the host accepts its mail: a flight repeats one domain.
    known: Option<(String, Responsible)>,
    local: String,
    domain: String,
    pub(crate) tally: SessionTally,
    commands: u32,
    /// Recipients refused permanently.
    refusals: u32,
    /// Whether a 421 was sent.
    pub(crate) said_421: bool,
}

impl ServerSession {
    pub(crate) fn new(parties: ConnectionParties, rng: Rng) -> Self {
        Self {
            parties,
            rng,
            tls: false,
            helo: String::new(),
            transaction: None,
            in_data: false,
            mails: 0,
            rcpts: 0,
            errors: 0,
            known: None,
            local: String::new(),
            domain: String::new(),
            tally: SessionTally::default(),
            commands: 0,
            refusals: 0,
            said_421: false,
        }
    }

    pub(crate) fn personality(&self) -> &Arc<Personality> {
        &self.parties.personality
    }

    /// Adds the new counts to the host's counters.
    pub(crate) fn count(&mut self) {
        self.parties.state.add(&mut self.tally);
    }

    /// Whether input received before a reply was sent is lost.
    pub(crate) fn drops_early(&self) -> bool {
        matches!(self.parties.personality.pipelining, Pipelining::DropsEarly | Pipelining::OfferedButDrops)
    }

    /// Whether the connection ends after the commands of the flight.
    pub(crate) fn is_done(&self) -> bool {
        self.refusals > 0 && self.parties.personality.after_refusal == AfterRefusal::ClosesBehindFlight
    }

    pub(crate) fn banner(&mut self, out: &mut Vec<u8>) -> Flow {
        let start = out.len();
        let limit = self.parties.personality.limits.connections_per_source;
        let flow = if limit > 0 && self.parties.open > u64::from(limit) {
            self.say(Phrase::TooManyConnections, out);
            CLOSE
        } else if let Some(flow) = self.refuse(At::Banner, out) {
            flow
        } else {
            self.say(Phrase::Banner, out);
            CONTINUE
        };
        let wait_ms = self.parties.personality.pace.banner_ms;
        self.finish(At::Banner, start, Flow { wait_ms, ..flow }, out)
    }

    /// Reply to a client that is silent for too long.
    pub(crate) fn idle(&mut self, out: &mut Vec<u8>) {
        self.say(Phrase::Idle, out);
    }

    /// Resets the state after TLS is set up (RFC 3207 section 4.2).
    pub(crate) fn secured(&mut self) {
        self.tls = true;
        self.tally.tls += 1;
        self.helo.clear();
        self.reset();
    }

    /// Answers one line, given without its line end.
    pub(crate) fn line(&mut self, line: &[u8], now_ms: i64, out: &mut Vec<u8>) -> Flow {
        if self.in_data {
            return self.data_line(line, out);
        }
        self.tally.commands += 1;
        self.commands += 1;
        let limits = &self.parties.personality.limits;
        if limits.commands_per_session > 0 && self.commands > limits.commands_per_session {
            return CLOSE;
        }
        match self.parties.personality.after_refusal {
            AfterRefusal::ClosesAtNext if self.refusals > 0 => return CLOSE,
            AfterRefusal::FallsSilent if self.refusals > 0 => return Then::Silence.into(),
            _ => {}
        }
        let start = out.len();
        let (verb, rest) = split_verb(line);
        let (at, flow) = if verb.eq_ignore_ascii_case(b"RCPT") {
            (Some(At::Rcpt), self.rcpt(rest, now_ms, out))
        } else {
            self.other(verb, rest, out)
        };
        let mut flow = self.punish(start, flow, out);
        flow.wait_ms += self.parties.personality.pace.reply_ms;
        if at == Some(At::Rcpt) && out.get(start) == Some(&b'5') {
            self.refusals += 1;
            if self.parties.personality.after_refusal == AfterRefusal::Closes {
                flow.then = Then::Close;
            }
        }
        match at {
            Some(at) => self.finish(at, start, flow, out),
            None => flow,
        }
    }

    /// Every command but RCPT.
    fn other(&mut self, verb: &[u8], rest: &[u8], out: &mut Vec<u8>) -> (Option<At>, Flow) {
        let verb = verb.to_ascii_uppercase();
        match verb.as_slice() {
            b"MAIL" => (Some(At::Mail), self.mail(rest, out)),
            b"EHLO" => (Some(At::Ehlo), self.ehlo(rest, out)),
            b"HELO" => (Some(At::Ehlo), self.helo(rest, out)),
            b"RSET" => {
                let refused = self.refuse(At::Rset, out);
                self.reset();
                (Some(At::Rset), refused.unwrap_or_else(|| plain(out, "250 2.0.0 Ok")))
            }
            b"QUIT" => {
                self.say(Phrase::Goodbye, out);
                (Some(At::Quit), CLOSE)
            }
            b"STARTTLS" => (Some(At::Starttls), self.starttls(rest, out)),
            b"NOOP" => (None, plain(out, "250 2.0.0 Ok")),
            b"DATA" => (None, self.data(out)),
            b"VRFY" => {
                self.tally.vrfy += 1;
                (None, plain(out, "252 2.0.0 Cannot verify, but will attempt delivery"))
            }
            b"EXPN" => {
                self.tally.vrfy += 1;
                (None, self.wrong(out, "502 5.5.1 Command not implemented"))
            }
            b"HELP" => (None, plain(out, "214 2.0.0 See RFC 5321")),
            _ => (None, self.wrong(out, "500 5.5.2 Error: command not recognized")),
        }
    }

    fn mail(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Flow {
        self.tally.mail += 1;
        if self.helo.is_empty() {
            return self.wrong(out, "503 5.5.1 Error: send HELO/EHLO first");
        }
        if self.transaction.is_some() {
            return self.wrong(out, "503 5.5.1 Error: nested MAIL command");
        }
        if self.parties.personality.tls == Tls::Required && !self.tls {
            self.say(Phrase::TlsRequired, out);
            return CONTINUE;
        }
        let Some(path) = Path::parse(rest, b"FROM:") else {
            return self.wrong(out, "501 5.1.7 Bad sender address syntax");
        };
        let utf8 = match path.mail_parameters() {
            Ok(utf8) if !utf8 || self.parties.personality.smtputf8 => utf8,
            _ => return self.wrong(out, "555 5.5.4 Unsupported option"),
        };
        let sender = String::from_utf8_lossy(path.mailbox).into_owned();
        self.transaction = Some(Transaction { sender, utf8, accepted: 0, domain: String::new() });
        if let Some(flow) = self.refuse(At::Mail, out) {
            self.reset();
            return flow;
        }
        self.mails += 1;
        self.say(Phrase::SenderAccepted, out);
        CONTINUE
    }

    fn data(&mut self, out: &mut Vec<u8>) -> Flow {
        self.tally.data += 1;
        if self.transaction.as_ref().is_none_or(|open| open.accepted == 0) {
            return self.wrong(out, "503 5.5.1 Error: need RCPT command");
        }
        self.in_data = true;
        plain(out, "354 End data with <CR><LF>.<CR><LF>")
    }

    fn data_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Flow {
        if line != b"." {
            return CONTINUE;
        }
        self.in_data = false;
        self.reset();
        plain(out, "250 2.0.0 Ok: queued and forgotten")
    }

    fn reset(&mut self) {
        self.transaction = None;
    }

    /// The personality's refusal at this point, if any.
    fn refuse(&mut self, at: At, out: &mut Vec<u8>) -> Option<Flow> {
        let personality = Arc::clone(&self.parties.personality);
        let refusal = personality.refusals.iter().find(|refusal| refusal.at == at && refusal.after <= self.mails)?;
        let start = out.len();
        match Phrase::named(&refusal.text) {
            Some(phrase) => self.say(phrase, out),
            None => ReplyTemplate::parse(&refusal.text).render(&self.scene(0), out),
        }
        self.note_421(start, out);
        Some(if refusal.close || self.said_421 { CLOSE } else { CONTINUE })
    }

    fn say(&mut self, phrase: Phrase, out: &mut Vec<u8>) {
        self.say_with(phrase, 0, out);
    }

    fn say_with(&mut self, phrase: Phrase, seconds: u32, out: &mut Vec<u8>) {
        let start = out.len();
        self.parties.dialect.text(phrase).render(&self.scene(seconds), out);
        self.note_421(start, out);
    }

    fn note_421(&mut self, start: usize, out: &[u8]) {
        self.said_421 |= out[start..].starts_with(b"421");
    }

    fn sender(&self) -> &str {
        self.transaction.as_ref().map_or("", |open| open.sender.as_str())
    }

    fn scene(&self, seconds: u32) -> Scene<'_> {
        Scene {
            host: &self.parties.host,
            client: self.parties.client,
            helo: &self.helo,
            sender: self.sender(),
            local: &self.local,
            domain: &self.domain,
            seconds,
        }
    }

    /// Reply to a client error.
    fn wrong(&mut self, out: &mut Vec<u8>, reply: &str) -> Flow {
        self.tally.errors += 1;
        plain(out, reply)
    }

    /// Counts errors as Postfix does (every 4xx and 5xx is one), and slows or drops a client with too many.
    fn punish(&mut self, start: usize, flow: Flow, out: &mut Vec<u8>) -> Flow {
        let limits = &self.parties.personality.limits;
        let (slow_after, drop_after) = (limits.slow_after_errors, limits.drop_after_errors);
        if !matches!(out.get(start), Some(b'4' | b'5')) || (slow_after == 0 && drop_after == 0) {
            return flow;
        }
        self.errors += 1;
        if drop_after > 0 && self.errors > drop_after {
            out.truncate(start);
            self.say(Phrase::TooManyErrors, out);
            return CLOSE;
        }
        let slow = slow_after > 0 && self.errors > slow_after;
        Flow { wait_ms: flow.wait_ms + if slow { ERROR_DELAY_MS } else { 0 }, then: flow.then }
    }

    /// Applies the personality's protocol violations to this reply.
    fn finish(&mut self, at: At, start: usize, flow: Flow, out: &mut Vec<u8>) -> Flow {
        let faults = &self.parties.personality.faults;
        if faults.is_empty() {
            return flow;
        }
        let kinds: Vec<FaultKind> = faults.iter().filter(|fault| fault.at == at).map(|fault| fault.kind).collect();
        kinds.into_iter().fold(flow, |flow, kind| fault::apply(kind, start, flow, out))
    }
}

fn plain(out: &mut Vec<u8>, reply: &str) -> Flow {
    out.extend_from_slice(reply.as_bytes());
    out.extend_from_slice(b"\r\n");
    CONTINUE
}

fn split_verb(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(|b| *b == b' ').unwrap_or(line.len());
    let rest = line.get(end + 1..).unwrap_or_default();
    (&line[..end], rest.trim_ascii())
}
