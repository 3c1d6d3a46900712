//! One connection as a state machine without I/O.
//!
//! The shell dials, hands events to [`SmtpSession::on`] and does what the [`SessionStep`] says. The session knows the protocol:
//!
//! ```text
//! Opened -> banner -> EHLO (-> HELO) (-> STARTTLS -> handshake -> EHLO) -> Ready -> Ask -> Answered -> Ask ... -> Quit -> Ended
//! ```
//!
//! What the caller can rely on:
//! * Each [`SessionEvent::Ask`] is answered by exactly one [`SessionStep::Answered`] with one entry for each recipient. Where the
//!   session dies inside a flight, `Answered` comes first and the next event of any other kind (a [`SessionEvent::Tick`] will do)
//!   gives [`SessionStep::Ended`]; [`SmtpSession::end`] tells at once.
//! * Only complete replies count. A protocol error voids the whole flight, because answers may have been shifted; a
//!   connection that closes, times out or is shut by a 421 keeps the answers that were complete.
//! * After the end nothing is sent, but for a parting QUIT that [`SmtpSession::outgoing`] may hold.
//! * An event that does not fit the state (a second `Opened`, `Ask` before `Ready`) changes nothing.
//!
//! A reply more than there were commands can come after its flight was handed out. The session then ends with
//! [`End::Protocol`] at stage [`DialogStage::Unsolicited`]; a caller that can still withdraw that flight's answers should.
//!
//! Never said: VRFY, EXPN, DATA. There is no code that could say them.

use std::sync::Arc;

use crate::classify::DialogStage;
use crate::time::Millis;

use super::command::{self, Bare};
use super::deadline::{Clocks, WireProgress};
use super::flight::{FlightUnderWay, ReplyEffect};
use super::reply::{Reply, ReplyParser};

pub use super::capabilities::Capabilities;
pub use super::command::{EncodeError, Recipient};
pub use super::deadline::Timeouts;
pub use super::flight::{Flight, RcptAnswer};
pub use events::{Config, End, SessionEvent, SessionStep, TlsMode};
pub use transcript::TranscriptReply;

/// The most bytes that are read from a server in one session, besides what recipients add.
const READ_MAX_BYTES: u64 = 128 * 1024;
/// What each RCPT adds to the bytes that may be read: twice the longest reply line of RFC 5321 §4.5.3.1.5.
const READ_PER_RCPT_BYTES: u64 = 1024;
/// How long the answer to QUIT is waited for at least, in milliseconds.
const QUIT_MS: i64 = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    New,
    Banner,
    Ehlo,
    Helo,
    StartTls,
    Handshake,
    Idle,
    Asking,
    /// QUIT is said; a reply that was not 221 may have come.
    Quitting {
        odd: bool,
    },
    Over,
}

/// One connection to one server.
#[derive(Clone, Debug)]
pub struct SmtpSession {
    config: Arc<Config>,
    state: SessionState,
    parser: ReplyParser,
    capabilities: Capabilities,
    /// The refusal of EHLO that HELO followed.
    ehlo_refusal: Option<Reply>,
    asking: Option<FlightUnderWay>,
    end: Option<End>,
    clocks: Clocks,
    out: Vec<u8>,
    out_sent: usize,
    last_reply: Option<Reply>,
    tls: bool,
    transaction_open: bool,
    lock_step: bool,
    mails_sent: u32,
    mails_taken: u32,
    rcpts_sent: u32,
    bytes_read: u64,
    /// What the server says, while somebody wants to know.
    transcript: Option<Vec<TranscriptReply>>,
}

mod events;
mod replies;
mod transcript;

impl SmtpSession {
    /// A session on a connection that is not open yet.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            state: SessionState::New,
            parser: ReplyParser::new(),
            capabilities: Capabilities::default(),
            ehlo_refusal: None,
            asking: None,
            end: None,
            clocks: Clocks::default(),
            out: Vec::new(),
            out_sent: 0,
            last_reply: None,
            tls: false,
            transaction_open: false,
            lock_step: false,
            mails_sent: 0,
            mails_taken: 0,
            rcpts_sent: 0,
            bytes_read: 0,
            transcript: None,
        }
    }

    /// Takes an event at the time `now` and says what to do next.
    pub fn on(&mut self, event: SessionEvent<'_>, now: Millis) -> SessionStep {
        if let Some(end) = &self.end {
            return match event {
                SessionEvent::Ask(flight) => SessionStep::Answered(unanswered(&flight)),
                _ => SessionStep::Ended(end.clone()),
            };
        }
        match event {
            SessionEvent::Opened if self.state == SessionState::New => self.open(now),
            SessionEvent::Received(bytes) => self.receive(bytes, now),
            SessionEvent::Closed => self.closed(),
            SessionEvent::TlsReady if self.state == SessionState::Handshake => self.secured(now),
            SessionEvent::TlsFailed if self.state == SessionState::Handshake => self.finish(End::TlsFailed),
            SessionEvent::Ask(flight) => self.ask(flight, now),
            SessionEvent::Quit => self.quit(now),
            SessionEvent::Opened | SessionEvent::TlsReady | SessionEvent::TlsFailed | SessionEvent::Tick => {
                self.unless_late(now)
            }
        }
    }

    /// What is to be written to the server.
    pub fn outgoing(&self) -> &[u8] {
        self.out.get(self.out_sent..).unwrap_or_default()
    }

    /// The first `count` bytes of [`Self::outgoing`] are written.
    pub fn sent(&mut self, count: usize) {
        self.out_sent = self.out_sent.saturating_add(count).min(self.out.len());
        if self.out_sent == self.out.len() {
            self.out.clear();
            self.out_sent = 0;
        }
    }

    /// When to come back with [`SessionEvent::Tick`] if nothing else happens; `Millis(i64::MAX)` before the start and after the
    /// end.
    pub fn deadline(&self) -> Millis {
        self.clocks.earliest()
    }

    /// What the server offers; after STARTTLS what it offers under TLS.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// What is being waited for; [`DialogStage::Unsolicited`] while nothing that matters is.
    pub fn stage(&self) -> DialogStage {
        match self.state {
            SessionState::New | SessionState::Banner => DialogStage::Connect,
            SessionState::Ehlo | SessionState::Helo => DialogStage::Ehlo,
            SessionState::StartTls | SessionState::Handshake => DialogStage::StartTls,
            SessionState::Asking => self.asking.as_ref().map_or(DialogStage::Unsolicited, FlightUnderWay::stage),
            SessionState::Idle | SessionState::Quitting { .. } | SessionState::Over => DialogStage::Unsolicited,
        }
    }

    /// Sends one command at a time from now on, as to a server whose PIPELINING is broken.
    pub fn ask_in_lock_step(&mut self) {
        self.lock_step = true;
    }

    /// Whether the commands of a flight are sent in groups.
    pub fn pipelines(&self) -> bool {
        self.capabilities.pipelining && !self.lock_step
    }

    /// How many recipients the session's further transactions can carry, by what the server announces (RFC 9422) and if it takes
    /// `mails_max` transactions a session.
    pub fn room(&self, mails_max: Option<u32>) -> u32 {
        let Capabilities { mail_max, rcpt_max, .. } = self.capabilities;
        let Some(most) = mail_max.into_iter().chain(mails_max).min() else { return u32::MAX };
        most.saturating_sub(self.mails_sent).saturating_mul(rcpt_max.unwrap_or(u32::MAX))
    }

    /// Whether the connection is under TLS.
    pub fn tls(&self) -> bool {
        self.tls
    }

    /// How many bytes the server has sent, TLS not counted.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The last complete reply.
    pub fn last_reply(&self) -> Option<&Reply> {
        self.last_reply.as_ref()
    }

    /// How the session ended, if it has: known as soon as it is, also before [`SessionStep::Ended`] was returned.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    fn open(&mut self, now: Millis) -> SessionStep {
        if self.config.check().is_err() {
            return self.fail("a name of ours cannot be written in a command");
        }
        self.state = SessionState::Banner;
        self.clocks.open(now, &self.config.timeouts);
        SessionStep::NeedInput
    }

    fn closed(&mut self) -> SessionStep {
        match self.state {
            SessionState::Quitting { .. } => self.finish(End::Quit),
            SessionState::Handshake => self.finish(End::TlsFailed),
            _ => self.finish(End::Closed { stage: self.stage() }),
        }
    }

    /// RFC 3207 §4.2: what was learnt before TLS is forgotten, and EHLO is said again.
    fn secured(&mut self, now: Millis) -> SessionStep {
        self.tls = true;
        self.say_ehlo(now)
    }

    fn say_ehlo(&mut self, now: Millis) -> SessionStep {
        self.capabilities = Capabilities::default();
        command::ehlo(&mut self.out, &self.config.helo);
        self.await_reply(SessionState::Ehlo, now)
    }

    fn await_reply(&mut self, state: SessionState, now: Millis) -> SessionStep {
        self.state = state;
        self.clocks.wait(now, self.config.timeouts.command_ms, &self.config.timeouts);
        SessionStep::NeedInput
    }

    fn ask(&mut self, flight: Flight, now: Millis) -> SessionStep {
        if self.state != SessionState::Idle {
            return SessionStep::Answered(unanswered(&flight));
        }
        let mails_left = self.capabilities.mail_max.map(|most| most.saturating_sub(self.mails_sent));
        let asking = FlightUnderWay::plan(flight, &self.capabilities, self.transaction_open, mails_left);
        let asking = asking.behind(self.mails_taken);
        let asking = if self.lock_step { asking.in_lock_step() } else { asking };
        if asking.is_complete() {
            return SessionStep::Answered(asking.into_answers());
        }
        self.asking = Some(asking);
        self.state = SessionState::Asking;
        if self.parser.is_inside_reply() {
            return self.fail("a reply without a question");
        }
        self.write_flight();
        self.await_reply(SessionState::Asking, now)
    }

    fn write_flight(&mut self) {
        if let Some(asking) = &mut self.asking {
            let written = asking.write(&mut self.out, &self.config.mail_from);
            self.mails_sent = self.mails_sent.saturating_add(written.mails);
            self.rcpts_sent = self.rcpts_sent.saturating_add(written.rcpts);
        }
    }

    fn quit(&mut self, now: Millis) -> SessionStep {
        match self.state {
            SessionState::Idle => {
                command::bare(&mut self.out, Bare::Quit);
                self.state = SessionState::Quitting { odd: false };
                // A server that is slow is slow here, too, and its count of replies may depend on this one.
                let wait_ms = QUIT_MS.max(2 * self.clocks.slowest_ms()).min(self.config.timeouts.command_ms);
                self.clocks.wait(now, wait_ms, &self.config.timeouts);
                SessionStep::NeedInput
            }
            SessionState::Quitting { .. } => self.unless_late(now),
            // A caller in a hurry: whatever is under way is dropped.
            _ => self.finish(End::Quit),
        }
    }

    /// The step of an event that changed nothing, unless a deadline has passed.
    fn unless_late(&mut self, now: Millis) -> SessionStep {
        if now >= self.clocks.earliest() {
            let end = match self.state {
                SessionState::Quitting { .. } => End::Quit,
                _ => End::TimedOut { stage: self.stage() },
            };
            return self.finish(end);
        }
        match self.state {
            SessionState::Idle => SessionStep::Ready,
            _ => SessionStep::NeedInput,
        }
    }

    fn fail(&mut self, what: &'static str) -> SessionStep {
        self.finish(End::Protocol { stage: self.stage(), what })
    }

    fn finish(&mut self, end: End) -> SessionStep {
        // RFC 5321 §3.1 and §4.3.2: a server that refuses us waits for QUIT; one that said 421 closes by itself. Half a
        // command may already be written: QUIT must not become its other half.
        let unsure = self.asking.as_ref().is_some_and(|asking| asking.rset_refusal().is_some());
        let parting = match &end {
            End::Refused { reply, .. } => reply.code != 421 && self.out_sent == 0 && !unsure,
            End::TlsUnavailable => self.out_sent == 0,
            _ => false,
        };
        self.out.clear();
        self.out_sent = 0;
        if parting {
            command::bare(&mut self.out, Bare::Quit);
        }
        let asking = self.asking.take().map(|mut asking| {
            if matches!(end, End::Protocol { .. }) || unsure && !matches!(end, End::Refused { .. }) {
                asking.void();
            }
            asking.into_answers()
        });
        self.state = SessionState::Over;
        self.clocks.stop();
        self.end = Some(end.clone());
        asking.map_or(SessionStep::Ended(end), SessionStep::Answered)
    }
}

fn unanswered(flight: &Flight) -> Vec<RcptAnswer> {
    vec![RcptAnswer::Unanswered; flight.recipients.len()]
}

#[cfg(test)]
mod tests;
