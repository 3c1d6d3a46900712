//! One session on one connection: the driver of `probity-mail`'s session machine.
//!
//! A [`MailSession`] performs the machine's requests (write, read, TLS handshake) under its deadlines, and reports back. Every
//! network failure ends as an [`End`] or a [`DialFault`]: an observation.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use probity_mail::classify::{DialogStage, Rules};
use probity_mail::plan::DialFault;
use probity_mail::policy::Policy;
use probity_mail::smtp::session::{
    Config, End, Flight, RcptAnswer, SessionEvent, SessionStep, SmtpSession, TranscriptReply,
};
use probity_mail::time::Millis;
use probity_mail::verdict::Silence;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout_at;

use crate::clock::EngineClock;
use crate::limits::permits::SessionPermit;
use crate::net::tls::TlsClient;
use crate::net::{ConnectFailure, DialRequest, Net, Stream};
use crate::request::EngineTally;

/// Bytes per read: the replies to 100 recipients. An idle link holds no buffer.
const READ_BYTES: usize = 8 * 1024;
/// Maximum time of a TLS handshake, in milliseconds.
const HANDSHAKE_MS: u64 = 10_000;

/// Reply to QUIT (RFC 5321 §4.1.1.10).
const GOODBYE: u16 = 221;

/// How a server ended the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnding {
    /// With as many replies as commands.
    Said,
    /// Without a reply: whether it counted right is unknown.
    Missing,
    /// With too many replies.
    Miscounted,
}

/// Context of links.
#[derive(Clone)]
pub(crate) struct SessionContext {
    pub(crate) net: Arc<dyn Net>,
    pub(crate) clock: EngineClock,
    pub(crate) tls: TlsClient,
    pub(crate) tally: Arc<EngineTally>,
}

/// One open session.
pub(crate) struct MailSession {
    number: u64,
    stream: Option<Box<dyn Stream>>,
    session: SmtpSession,
    ground: SessionContext,
    host: Arc<str>,
    address: IpAddr,
    opened: Millis,
    clear: bool,
    asked: u32,
    refused: u32,
    /// Permit for one of this process's sessions.
    _permit: SessionPermit,
}

/// Numbers of links, by which an idle one can be found again.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl MailSession {
    /// Dials and runs the session until it is ready. `said` collects the server's replies, if given.
    pub(crate) async fn open(
        ground: SessionContext,
        dial: DialRequest,
        host: &Arc<str>,
        config: Config,
        permit: SessionPermit,
        said: Option<&mut Vec<TranscriptReply>>,
    ) -> Result<Self, Box<DialRefused>> {
        let clear = config.tls == probity_mail::smtp::session::TlsMode::Never;
        let address = dial.address;
        let stream = match ground.net.connect(dial).await {
            Ok(stream) => stream,
            Err(failure) => {
                ground.tally.count(|all| all.connect_failures += 1);
                return Err(Box::new(DialRefused::Connect(failure)));
            }
        };
        ground.tally.count(|all| {
            all.connections += 1;
            all.sessions_open += 1;
        });
        let opened = ground.clock.now();
        let mut link = Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            stream: Some(stream),
            session: SmtpSession::new(Arc::new(config)),
            ground,
            host: host.clone(),
            address,
            opened,
            clear,
            asked: 0,
            refused: 0,
            _permit: permit,
        };
        if said.is_some() {
            link.session.transcribe();
        }
        let greeted = link.greet().await;
        if let Some(said) = said {
            *said = link.session.take_transcript();
        }
        greeted?;
        Ok(link)
    }

    async fn greet(&mut self) -> Result<(), Box<DialRefused>> {
        let mut step = self.run(SessionEvent::Opened).await;
        loop {
            step = match step {
                SessionStep::Ready => return Ok(()),
                SessionStep::StartTls => {
                    let event = self.handshake().await;
                    self.run(event).await
                }
                SessionStep::Ended(end) => return Err(Box::new(DialRefused::Session(end))),
                SessionStep::NeedInput | SessionStep::Answered(_) => {
                    let what = "the session machine lost its way";
                    return Err(Box::new(DialRefused::Session(End::Protocol { stage: self.session.stage(), what })));
                }
            };
        }
    }

    async fn handshake(&mut self) -> SessionEvent<'static> {
        let Some(stream) = self.stream.take() else { return SessionEvent::TlsFailed };
        match self.ground.tls.handshake(stream, &self.host, HANDSHAKE_MS).await {
            Ok(stream) => {
                self.stream = Some(stream);
                SessionEvent::TlsReady
            }
            Err(_) => SessionEvent::TlsFailed,
        }
    }

    /// Probes the recipients of one flight. The second value is set if the session is over.
    pub(crate) async fn ask(&mut self, flight: Flight) -> (Vec<RcptAnswer>, Option<End>) {
        let count = flight.recipients.len();
        if let Some(end) = self.unprompted_end() {
            return (unanswered(count), Some(end));
        }
        self.asked = self.asked.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        self.ground.tally.count(|all| all.rcpts += count as u64);
        match self.run(SessionEvent::Ask(flight)).await {
            SessionStep::Answered(answers) => (answers, self.session.end().cloned()),
            SessionStep::Ended(end) => (unanswered(count), Some(end)),
            SessionStep::NeedInput | SessionStep::StartTls | SessionStep::Ready => {
                let what = "a flight without an answer";
                (unanswered(count), Some(End::Protocol { stage: DialogStage::Rcpt, what }))
            }
        }
    }

    /// Records the server's replies in the next flight.
    pub(crate) fn transcribe(&mut self) {
        self.session.transcribe();
    }

    /// Sends one command at a time from now on.
    pub(crate) fn ask_in_lock_step(&mut self) {
        self.session.ask_in_lock_step();
    }

    /// Whether the commands of a flight are sent in groups.
    pub(crate) fn pipelines(&self) -> bool {
        self.session.pipelines()
    }

    /// Takes the replies recorded since.
    pub(crate) fn take_transcript(&mut self) -> Vec<TranscriptReply> {
        self.session.take_transcript()
    }

    /// Sends QUIT and closes. Its reply has a unique code, so it also shows whether there were as many replies as commands (RFC
    /// 2920 §3.1): any reply before it was one too many, whenever it came.
    pub(crate) async fn quit(mut self) -> SessionEnding {
        match self.run(SessionEvent::Quit).await {
            SessionStep::Ended(End::Protocol { .. }) => SessionEnding::Miscounted,
            _ if self.session.last_reply().is_some_and(|reply| reply.code == GOODBYE) => SessionEnding::Said,
            _ => SessionEnding::Missing,
        }
    }

    /// Drives the machine from one event to its next pause.
    async fn run(&mut self, event: SessionEvent<'_>) -> SessionStep {
        let clock = self.ground.clock;
        let mut step = self.session.on(event, clock.now());
        let mut buffer = Vec::new();
        while step == SessionStep::NeedInput {
            let Some(stream) = self.stream.as_mut() else {
                return self.session.on(SessionEvent::Closed, clock.now());
            };
            self.ground.tally.count(|all| all.waits += 1);
            let deadline = clock.instant(self.session.deadline());
            buffer.clear();
            buffer.reserve(READ_BYTES);
            let exchanged = timeout_at(deadline, exchange(stream, &mut self.session, &mut buffer)).await;
            let event = match exchanged {
                Ok(Ok(0) | Err(_)) => SessionEvent::Closed,
                Ok(Ok(_)) => SessionEvent::Received(&buffer),
                Err(_) => SessionEvent::Tick,
            };
            step = self.session.on(event, clock.now());
        }
        if matches!(step, SessionStep::Ended(_))
            && let Some(mut stream) = self.stream.take()
        {
            // A final QUIT may be pending; nothing depends on it, so nobody waits for it.
            let rest = self.session.outgoing();
            if !rest.is_empty() {
                let _ = stream.write(rest).now_or_never();
            }
        }
        step
    }

    /// Whether the server has sent nothing since the last flight: a closed session is not reusable.
    pub(crate) fn is_fresh(&mut self) -> bool {
        self.unprompted_end().is_none()
    }

    /// The session's end, if the server has replied or closed unprompted. Does not wait.
    fn unprompted_end(&mut self) -> Option<End> {
        let mut bytes = [0u8; 512];
        let heard = match self.stream.as_mut() {
            Some(stream) => stream.read(&mut bytes).now_or_never()?,
            None => Ok(0),
        };
        let event = match heard {
            Ok(0) | Err(_) => SessionEvent::Closed,
            Ok(count) => SessionEvent::Received(&bytes[..count]),
        };
        let stage = self.session.stage();
        let _ = self.session.on(event, self.ground.clock.now());
        // Half a line is one too many as well.
        let half = End::Protocol { stage, what: "a reply without a question" };
        Some(self.session.end().cloned().unwrap_or(half))
    }

    /// RCPT commands that the policy and the server still allow in this session. `mails_max` is the number of transactions that
    /// the server was seen to take in one.
    pub(crate) fn room(&self, policy: &Policy, mails_max: Option<u32>, now: Millis) -> u32 {
        if now.since(self.opened) >= policy.session_ms {
            return 0;
        }
        let by_count = policy.session_rcpt.saturating_sub(self.asked);
        let by_refusals = policy.refused_per_session.saturating_sub(self.refused);
        by_count.min(by_refusals).min(self.session.room(mails_max))
    }

    /// Books refused recipients: servers count them.
    pub(crate) fn refused(&mut self, count: u32) {
        self.refused = self.refused.saturating_add(count);
    }

    /// Number of recipients refused in this session.
    pub(crate) fn refusals(&self) -> u32 {
        self.refused
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether this session was opened without trying STARTTLS.
    pub(crate) fn is_clear(&self) -> bool {
        self.clear
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.session.tls()
    }
}

impl Drop for MailSession {
    fn drop(&mut self) {
        self.ground.tally.count(|all| all.sessions_open -= 1);
    }
}

/// Writes the session's pending output and reads the next input; returns the bytes read.
async fn exchange(
    stream: &mut Box<dyn Stream>,
    session: &mut SmtpSession,
    buffer: &mut Vec<u8>,
) -> std::io::Result<usize> {
    while !session.outgoing().is_empty() {
        let written = stream.write(session.outgoing()).await?;
        if written == 0 {
            return Ok(0);
        }
        session.sent(written);
    }
    stream.flush().await?;
    stream.read_buf(buffer).await
}

fn unanswered(count: usize) -> Vec<RcptAnswer> {
    vec![RcptAnswer::Unanswered; count]
}

/// Reason why there is no link.
#[derive(Debug)]
pub(crate) enum DialRefused {
    Connect(ConnectFailure),
    Session(End),
}

impl DialRefused {
    /// Converts it for the plan.
    pub(crate) fn fault(self, rules: &Rules, provider: Option<&str>) -> DialFault {
        match self {
            Self::Connect(failure) => DialFault::Silent(silence(failure), None),
            Self::Session(End::Refused { stage, reply }) => {
                let reading = rules.read(&reply, stage, provider);
                DialFault::SentAway { stage, reply, reading }
            }
            Self::Session(End::TimedOut { stage }) => DialFault::Silent(Silence::TimedOut, Some(stage)),
            Self::Session(End::Closed { stage }) => DialFault::Silent(Silence::Closed, Some(stage)),
            Self::Session(End::Protocol { stage, .. }) => DialFault::Silent(Silence::Protocol, Some(stage)),
            Self::Session(End::TlsFailed | End::Injected) => DialFault::Tls,
            Self::Session(End::TlsUnavailable) => DialFault::Silent(Silence::Tls, Some(DialogStage::StartTls)),
            Self::Session(End::Quit) => DialFault::Silent(Silence::Closed, None),
        }
    }
}

fn silence(failure: ConnectFailure) -> Silence {
    match failure {
        ConnectFailure::Refused => Silence::Refused,
        ConnectFailure::TimedOut => Silence::TimedOut,
        ConnectFailure::Unreachable | ConnectFailure::Guarded => Silence::Unreachable,
        ConnectFailure::Proxy | ConnectFailure::Local => Silence::Local,
    }
}
