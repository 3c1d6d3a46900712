//! What each reply means for the session.
//!
//! Every reply belongs to the oldest command that has none. Bytes behind the last reply that is due belong to no question:
//! they are a 421 that shuts the session, or a server (or someone in between) that answers before it is asked.

use super::{
    Bare, DialogStage, End, Millis, READ_MAX_BYTES, READ_PER_RCPT_BYTES, Reply, ReplyEffect, ReplyParser, SessionEvent,
    SessionState, SessionStep, SmtpSession, TlsMode, WireProgress, command,
};

/// A reply that announces the end of the session at any point (RFC 5321 §3.8).
const SHUTTING_DOWN: u16 = 421;
/// The answer to QUIT; anywhere else a server that goes away without saying why.
const GOODBYE: u16 = 221;
/// What a server is told to have done when it answers nothing.
const UNASKED: &str = "a reply without a question";

impl SmtpSession {
    pub(super) fn receive(&mut self, bytes: &[u8], now: Millis) -> SessionStep {
        if self.state == SessionState::New {
            let step = self.on(SessionEvent::Opened, now);
            if self.end.is_some() {
                return step;
            }
        }
        if self.state == SessionState::Handshake && !bytes.is_empty() {
            return self.finish(End::Injected);
        }
        self.bytes_read = self.bytes_read.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.bytes_read > READ_MAX_BYTES + READ_PER_RCPT_BYTES * u64::from(self.rcpts_sent) {
            return self.fail("more bytes than a session may have");
        }
        self.read(bytes, now)
    }

    fn read(&mut self, bytes: &[u8], now: Millis) -> SessionStep {
        let mut rest = bytes;
        let mut progress = WireProgress::Bytes;
        loop {
            let in_ehlo = self.state == SessionState::Ehlo;
            let capabilities = &mut self.capabilities;
            let read = self.parser.next_with(&mut rest, |number, line| {
                progress = progress.max(WireProgress::Line);
                if in_ehlo {
                    capabilities.take_line(number, line);
                }
            });
            match read {
                None => break,
                Some(Err(error)) => return self.fail(error.what()),
                Some(Ok(reply)) => {
                    progress = WireProgress::Reply;
                    self.clocks.replied(now);
                    self.last_reply = Some(reply.clone());
                    self.note(&reply, self.stage(), now);
                    if let Some(step) = self.take(reply, rest, now) {
                        return step;
                    }
                }
            }
        }
        if !bytes.is_empty() {
            self.clocks.heard(now, &self.config.timeouts, progress, self.parser.is_inside_line());
        }
        self.unless_late(now)
    }

    /// Takes one reply; `rest` is what came behind it. `None` goes on reading.
    fn take(&mut self, reply: Reply, rest: &[u8], now: Millis) -> Option<SessionStep> {
        match self.state {
            SessionState::Asking => return self.take_answer(reply, rest),
            SessionState::Quitting { odd } => return self.take_goodbye(&reply, odd),
            _ => {}
        }
        match reply.code {
            SHUTTING_DOWN => {
                return Some(self.finish(End::Refused { stage: self.stage(), reply }));
            }
            GOODBYE => {
                return Some(self.finish(End::Closed { stage: self.stage() }));
            }
            _ => {}
        }
        if self.state == SessionState::StartTls && reply.code == 220 && !rest.is_empty() {
            return Some(self.finish(End::Injected));
        }
        if self.state == SessionState::Idle {
            return Some(self.fail(UNASKED));
        }
        let refused = self.refusal(&reply);
        if let Some(reply) = refused {
            return Some(self.finish(End::Refused { stage: self.stage(), reply }));
        }
        if !rest.is_empty() {
            return Some(self.talked_early(rest));
        }
        Some(self.advance(reply, now))
    }

    /// The refusal that ends the session here, if this reply does.
    fn refusal(&self, reply: &Reply) -> Option<Reply> {
        match self.state {
            SessionState::Banner => (!reply.is_positive()).then(|| reply.clone()),
            // RFC 5321 §3.2: a server that does not know EHLO is asked with HELO; 554 means that it wants none of us.
            SessionState::Ehlo => {
                (!reply.is_positive() && (!reply.is_permanent() || reply.code == 554)).then(|| reply.clone())
            }
            SessionState::Helo if !reply.is_positive() => {
                // A server that knows EHLO and refuses us says why at EHLO; what it says to HELO is an echo of that.
                let knew_ehlo = self.ehlo_refusal.clone().filter(|first| !matches!(first.code, 500..=502 | 504));
                Some(knew_ehlo.unwrap_or_else(|| reply.clone()))
            }
            SessionState::StartTls => {
                (reply.code != 220 && self.config.tls == TlsMode::Required).then(|| reply.clone())
            }
            _ => None,
        }
    }

    /// The next question of the opening, or readiness.
    fn advance(&mut self, reply: Reply, now: Millis) -> SessionStep {
        match self.state {
            SessionState::Banner => self.say_ehlo(now),
            SessionState::Ehlo if !reply.is_positive() => {
                self.capabilities = super::Capabilities::default();
                self.ehlo_refusal = Some(reply);
                command::helo(&mut self.out, &self.config.helo);
                self.await_reply(SessionState::Helo, now)
            }
            SessionState::StartTls if reply.code == 220 => {
                self.await_reply(SessionState::Handshake, now);
                SessionStep::StartTls
            }
            SessionState::Ehlo | SessionState::Helo if self.tls || self.config.tls == TlsMode::Never => self.ready(),
            SessionState::Ehlo | SessionState::Helo if self.capabilities.starttls => {
                command::bare(&mut self.out, Bare::StartTls);
                self.await_reply(SessionState::StartTls, now)
            }
            SessionState::Ehlo | SessionState::Helo if self.config.tls == TlsMode::Required => {
                self.finish(End::TlsUnavailable)
            }
            _ => self.ready(),
        }
    }

    fn ready(&mut self) -> SessionStep {
        self.state = SessionState::Idle;
        self.clocks.rest();
        SessionStep::Ready
    }

    fn take_answer(&mut self, reply: Reply, rest: &[u8]) -> Option<SessionStep> {
        let stage = self.stage();
        let asking = self.asking.as_mut()?;
        if reply.code == GOODBYE {
            let refused = asking.rset_refusal().map(|reply| End::Refused { stage, reply: reply.clone() });
            return Some(self.finish(refused.unwrap_or(End::Closed { stage })));
        }
        // Behind a refusal of RSET it may be what RSET was answered, and the refusal that of a recipient.
        if reply.code == SHUTTING_DOWN && asking.rset_refusal().is_none() {
            // It is the answer to the oldest command as well; the ones behind it stay without one.
            asking.take(reply.clone());
            return Some(self.finish(End::Refused { stage, reply }));
        }
        match asking.take(reply.clone()) {
            ReplyEffect::Fine => {}
            ReplyEffect::WithoutRset => return Some(self.finish(End::Refused { stage, reply })),
            ReplyEffect::Shifted => return Some(self.fail("a refusal of RSET, so that the answers may be shifted")),
        }
        if !asking.is_waiting() && !rest.is_empty() {
            return Some(self.talked_early(rest));
        }
        if asking.is_complete() {
            self.transaction_open = asking.leaves_open();
            self.mails_taken = asking.taken();
            let answers = self.asking.take().map(super::FlightUnderWay::into_answers).unwrap_or_default();
            self.ready();
            return Some(SessionStep::Answered(answers));
        }
        self.write_flight();
        None
    }

    /// A reply to QUIT that is not 221 is waited past once: a second one shows that an earlier answer was one too many.
    fn take_goodbye(&mut self, reply: &Reply, odd: bool) -> Option<SessionStep> {
        if odd {
            return Some(self.fail("more replies than commands"));
        }
        if matches!(reply.code, GOODBYE | SHUTTING_DOWN) {
            return Some(self.finish(End::Quit));
        }
        self.state = SessionState::Quitting { odd: true };
        None
    }

    /// Bytes came behind the last reply that was due.
    fn talked_early(&mut self, rest: &[u8]) -> SessionStep {
        match ReplyParser::new().next(&mut &*rest) {
            Some(Ok(reply)) if reply.code == SHUTTING_DOWN => {
                self.last_reply = Some(reply.clone());
                self.finish(End::Refused { stage: DialogStage::Unsolicited, reply })
            }
            Some(Ok(reply)) if reply.code == GOODBYE => self.finish(End::Closed { stage: DialogStage::Unsolicited }),
            _ => self.fail(UNASKED),
        }
    }
}
