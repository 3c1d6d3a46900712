//! Moves bytes between a stream and a [`ServerSession`]: reads flights, applies the personality's delays, sends replies.
//!
//! All complete lines of one read are answered before anything is sent, and the replies are sent in one write. A delay (latency,
//! tarpit) first sends what is ready.

use std::sync::Arc;
use std::time::Duration;

use probity_engine::net::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::clock::RunClock;
use crate::personality::Tls;
use crate::record::{Happening, RecordedEvent, RunRecord};
use crate::session::{Flow, ServerSession, Then};

/// Idle timeout of a client (RFC 5321 section 4.5.3.2.7).
const IDLE: Duration = Duration::from_mins(5);

/// Longest line. RFC 5321 section 4.5.3.1.4 requires 512 and more with extensions.
const MAX_LINE_BYTES: usize = 4096;

/// Time that the server listens after its 421, to notice a client that continues.
const AFTER_421: Duration = Duration::from_millis(500);

/// Initial read buffer of a connection, in bytes: idle connections must be cheap.
const READ_BYTES: usize = 2 * 1024;

/// Read buffer of a connection with large flights, in bytes: 1,000 commands.
const MAX_READ_BYTES: usize = 64 * 1024;

/// How the server ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is closed normally.
    Closed,
    Reset,
}

/// Context of a connection.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionContext {
    pub clock: RunClock,
    pub record: Arc<RunRecord>,
    pub connection: u64,
    pub host: Arc<str>,
    /// Waited once per flight.
    pub latency_ms: u64,
}

impl ConnectionContext {
    pub(crate) fn note(&self, what: impl FnOnce() -> Happening) {
        self.record.note(|| RecordedEvent {
            at_ms: self.clock.now_ms(),
            connection: self.connection,
            name: Arc::clone(&self.host),
            what: what(),
        });
    }
}

/// Serves one connection to its end; returns the stream, unless a handshake consumed it.
pub(crate) async fn serve<S: Stream>(
    stream: S,
    session: &mut ServerSession,
    wire: &ConnectionContext,
) -> (Ending, Option<S>) {
    let mut talk = Talk::new(stream, wire);
    let (ending, stream) = match talk.begin(session).await {
        ServeStep::StartTls => {
            let Talk { stream, sent, .. } = talk;
            secure(stream, sent, session, wire).await
        }
        ServeStep::End(ending) => (ending, Some(talk.stream)),
    };
    session.count();
    wire.note(|| Happening::End);
    (ending, stream)
}

/// Continues after the 220 to STARTTLS.
async fn secure<S: Stream>(
    mut stream: S,
    sent: u64,
    session: &mut ServerSession,
    wire: &ConnectionContext,
) -> (Ending, Option<S>) {
    match session.personality().tls {
        Tls::Garbage => {
            // After the client's hello, or it would be an injection. The client may be gone already.
            let _hello = stream.read(&mut [0; 2_048]).await;
            let _closed = stream.write_all(b"\x00\x01\x02 this is no TLS \xff\xfe\r\n").await;
            drain(&mut stream).await;
        }
        Tls::Stalls | Tls::Injection => drain(&mut stream).await,
        Tls::ClosesHandshake => {
            let _hello = stream.read(&mut [0; 512]).await;
        }
        Tls::Offered | Tls::None | Tls::Required | Tls::Refused => {
            // The handshake costs its own round trip.
            sleep(Duration::from_millis(wire.latency_ms)).await;
            let Ok(Ok(secured)) = timeout(IDLE, crate::session::tls::acceptor().accept(stream)).await else {
                return (Ending::Closed, None);
            };
            wire.note(|| Happening::Tls);
            session.secured();
            let mut talk = Talk::new(secured, wire);
            talk.sent = sent;
            let ending = match talk.listen(session).await {
                ServeStep::End(ending) => ending,
                ServeStep::StartTls => Ending::Closed,
            };
            if ending == Ending::Closed {
                // Sends close_notify, without which the end could be an attacker's.
                let _gone = talk.stream.shutdown().await;
            }
            return (ending, Some(talk.stream.into_inner().0));
        }
    }
    (Ending::Closed, Some(stream))
}

/// Reads until the client leaves, at most for the idle time.
async fn drain<S: Stream>(stream: &mut S) {
    let mut sink = [0; 1024];
    while let Ok(Ok(1..)) = timeout(IDLE, stream.read(&mut sink)).await {}
}

enum ServeStep {
    StartTls,
    End(Ending),
}

struct Talk<'a, S> {
    stream: S,
    wire: &'a ConnectionContext,
    input: Vec<u8>,
    out: Vec<u8>,
    /// Bytes read at once.
    chunk: usize,
    /// Bytes sent so far, for a reset in the middle of a reply.
    sent: u64,
}

impl<'a, S: Stream> Talk<'a, S> {
    fn new(stream: S, wire: &'a ConnectionContext) -> Self {
        Self { stream, wire, input: Vec::new(), out: Vec::new(), chunk: READ_BYTES, sent: 0 }
    }

    async fn begin(&mut self, session: &mut ServerSession) -> ServeStep {
        let flow = session.banner(&mut self.out);
        if let Some(ending) = self.follow(session, 0, flow).await {
            return ending;
        }
        if let Err(ending) = self.flush(session).await {
            return ServeStep::End(ending);
        }
        self.listen(session).await
    }

    /// Reads flights and answers them.
    async fn listen(&mut self, session: &mut ServerSession) -> ServeStep {
        loop {
            let before = self.input.len();
            self.input.reserve(self.chunk);
            match timeout(IDLE, self.stream.read_buf(&mut self.input)).await {
                Ok(Ok(read @ 1..)) if before + read == self.input.capacity() => {
                    self.chunk = (self.chunk * 2).min(MAX_READ_BYTES);
                }
                Ok(Ok(1..)) => {}
                Ok(_) => return ServeStep::End(Ending::Closed),
                Err(_) => {
                    session.idle(&mut self.out);
                    let sent = self.flush(session).await;
                    return ServeStep::End(sent.err().unwrap_or(Ending::Closed));
                }
            }
            if self.wire.latency_ms > 0 {
                sleep(Duration::from_millis(self.wire.latency_ms)).await;
            }
            if let Some(step) = self.answer_flight(session).await {
                return step;
            }
        }
    }

    /// Answers all complete lines of the input.
    async fn answer_flight(&mut self, session: &mut ServerSession) -> Option<ServeStep> {
        let now_ms = self.wire.clock.now_ms();
        let mut begin = 0;
        let input = std::mem::take(&mut self.input);
        while let Some(length) = input[begin..].iter().position(|b| *b == b'\n') {
            let line = &input[begin..begin + length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            begin += length + 1;
            if self.wire.record.is_traced() {
                self.wire.note(|| Happening::Command(String::from_utf8_lossy(line).into_owned()));
            }
            let before = self.out.len();
            let flow = session.line(line, now_ms, &mut self.out);
            if flow != Flow::default()
                && let Some(step) = self.follow(session, before, flow).await
            {
                return Some(step);
            }
            if session.drops_early() {
                begin = input.len();
            }
        }
        self.input = input;
        self.input.drain(..begin);
        if self.input.len() > MAX_LINE_BYTES {
            self.out.extend_from_slice(b"500 5.5.2 Error: line too long\r\n");
            let sent = self.flush(session).await;
            return Some(ServeStep::End(sent.err().unwrap_or(Ending::Closed)));
        }
        let sent = self.flush(session).await.err();
        sent.or_else(|| session.is_done().then_some(Ending::Closed)).map(ServeStep::End)
    }

    /// Waits before the reply that begins at `before`, and performs what follows it.
    async fn follow(&mut self, session: &mut ServerSession, before: usize, flow: Flow) -> Option<ServeStep> {
        if flow.wait_ms > 0 {
            let reply = self.out.split_off(before);
            if let Err(ending) = self.flush(session).await {
                return Some(ServeStep::End(ending));
            }
            sleep(Duration::from_millis(flow.wait_ms)).await;
            self.out = reply;
        }
        if flow.then == Then::Continue {
            return None;
        }
        if flow.then == Then::StartTls && session.personality().tls == Tls::Injection {
            self.out.extend_from_slice(b"250-injected\r\n250 SMTPUTF8\r\n");
        }
        if let Err(ending) = self.flush(session).await {
            return Some(ServeStep::End(ending));
        }
        Some(match flow.then {
            Then::Continue => return None,
            Then::StartTls => ServeStep::StartTls,
            Then::Reset => ServeStep::End(Ending::Reset),
            Then::Silence => {
                drain(&mut self.stream).await;
                ServeStep::End(Ending::Closed)
            }
            Then::Endless => ServeStep::End(self.talk_for_ever().await),
            Then::Close => {
                if session.said_421 {
                    self.watch_after_421(session).await;
                }
                ServeStep::End(Ending::Closed)
            }
        })
    }

    /// Counts RCPT commands after a 421, which break a rule.
    async fn watch_after_421(&mut self, session: &mut ServerSession) {
        self.input.clear();
        while let Ok(Ok(1..)) = timeout(AFTER_421, self.stream.read_buf(&mut self.input)).await {
            if self.input.len() > MAX_READ_BYTES {
                break;
            }
        }
        let lines = self.input.split(|b| *b == b'\n');
        let rcpts = lines.filter(|line| line.get(..4).is_some_and(|verb| verb.eq_ignore_ascii_case(b"RCPT"))).count();
        session.tally.rcpt_after_421 += u64::try_from(rcpts).unwrap_or(u64::MAX);
    }

    async fn talk_for_ever(&mut self) -> Ending {
        let lines = b"250-and so on\r\n".repeat(64);
        while self.stream.write_all(&lines).await.is_ok() {
            // Time must pass: the client's clock ends this.
            sleep(Duration::from_millis(1)).await;
        }
        Ending::Closed
    }

    async fn flush(&mut self, session: &mut ServerSession) -> Result<(), Ending> {
        session.count();
        if self.out.is_empty() {
            return Ok(());
        }
        if self.wire.record.is_traced() {
            let first = self.out.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
            let first = String::from_utf8_lossy(&first[..first.len().min(80)]).into_owned();
            self.wire.note(|| Happening::Reply(first));
        }
        let limit = session.personality().limits.reset_at_byte;
        let room = usize::try_from(limit.saturating_sub(self.sent)).unwrap_or(usize::MAX);
        let cut = limit > 0 && self.out.len() >= room;
        if cut {
            self.out.truncate(room);
        }
        self.sent += u64::try_from(self.out.len()).unwrap_or(u64::MAX);
        let sent = self.write(session.personality().pace.byte_ms).await;
        self.out.clear();
        match sent {
            Ok(()) if cut => Err(Ending::Reset),
            Ok(()) => Ok(()),
            Err(_) => Err(Ending::Closed),
        }
    }

    async fn write(&mut self, byte_ms: u64) -> std::io::Result<()> {
        if byte_ms == 0 {
            self.stream.write_all(&self.out).await?;
            return self.stream.flush().await;
        }
        for byte in &self.out {
            self.stream.write_all(&[*byte]).await?;
            self.stream.flush().await?;
            sleep(Duration::from_millis(byte_ms)).await;
        }
        Ok(())
    }
}
