//! What a session is told and what it asks for: its settings, events, steps, and how it ends.

use crate::classify::DialogStage;
use crate::smtp::command::{EncodeError, check_word};
use crate::smtp::deadline::Timeouts;
use crate::smtp::flight::{Flight, RcptAnswer};
use crate::smtp::reply::Reply;

/// Whether a session uses STARTTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsMode {
    /// Where it is offered. A refusal is no reason to stop: the session goes on in the clear.
    Opportunistic,
    /// Always; a server without it ends the session.
    Required,
    /// Not even where it is offered.
    Never,
}

/// What a session says of us and how patient it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The name for EHLO.
    pub helo: String,
    /// The path of MAIL FROM without angle brackets; `""` is the null reverse-path `<>`.
    pub mail_from: String,
    /// Whether STARTTLS is used.
    pub tls: TlsMode,
    /// How long the server may take.
    pub timeouts: Timeouts,
}

impl Config {
    /// Checks that the names can be written in a command. A session with names that cannot ends at once.
    pub fn check(&self) -> Result<(), EncodeError> {
        if self.helo.is_empty() {
            return Err(EncodeError::Empty);
        }
        check_word(&self.helo)?;
        check_word(&self.mail_from)
    }
}

/// What happened to the connection, or what the caller wants.
#[derive(Clone, Debug)]
pub enum SessionEvent<'a> {
    /// The connection stands.
    Opened,
    /// The server sent these bytes.
    Received(&'a [u8]),
    /// The server closed or reset the connection.
    Closed,
    /// The handshake that [`SessionStep::StartTls`] asked for is done.
    TlsReady,
    /// The handshake failed.
    TlsFailed,
    /// Time has passed; a deadline may have as well.
    Tick,
    /// Ask for these recipients.
    Ask(Flight),
    /// Say goodbye.
    Quit,
}

/// What the caller does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionStep {
    /// Write [`super::SmtpSession::outgoing`], then read. Also the answer to an event that changed nothing.
    NeedInput,
    /// Do a TLS handshake on this connection, reading nothing in the clear before, and report back.
    StartTls,
    /// The session is open and idle: ask or quit.
    Ready,
    /// The flight is complete or cut short: one entry for each recipient, in order.
    Answered(Vec<RcptAnswer>),
    /// The session is over. Write what [`super::SmtpSession::outgoing`] still holds if that is easy, and close.
    Ended(End),
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// We said goodbye.
    Quit,
    /// The server sent us away: at the banner, at EHLO, at a required STARTTLS, or anywhere with 421.
    Refused {
        /// What had been asked.
        stage: DialogStage,
        /// The refusal.
        reply: Reply,
    },
    /// The connection closed, or the server announced it with 221.
    Closed {
        /// What was being waited for.
        stage: DialogStage,
    },
    /// The server took too long.
    TimedOut {
        /// What was being waited for.
        stage: DialogStage,
    },
    /// The server broke the protocol in a way that makes its answers worthless.
    Protocol {
        /// What was being waited for.
        stage: DialogStage,
        /// What it did.
        what: &'static str,
    },
    /// The TLS handshake failed. A new connection with [`TlsMode::Never`] may do better.
    TlsFailed,
    /// TLS is required and not offered.
    TlsUnavailable,
    /// Bytes in the clear came behind the server's agreement to STARTTLS (RFC 3207 §5): someone is in the middle.
    Injected,
}
