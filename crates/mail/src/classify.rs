//! `Reply -> Meaning`, by rules that are data.
//!
//! A reply is about *us* (our address, name, rate, sender), about the *server* (busy, broken, not responsible for the domain) or
//! about the *recipient*. Only the last can make an address undeliverable. A wrong "no such user" is the worst mistake of this
//! crate, so every doubt is decided against it. Order of evidence:
//!
//! 1. the class digit: a 2xx is an acceptance, and what is said with a 4xx never makes an address undeliverable;
//! 2. the stage: only an answer to RCPT can be about the recipient, but many servers also send client refusals there;
//! 3. the rules of `data/replies.toml`, the first that fits: those of the answering provider, then the general ones;
//! 4. a reply that matches no rule is [`Meaning::Unmatched`] (5xx) or [`Meaning::ServerTemporary`] (4xx, rule `class.4xx`).
//!
//! The code enforces the first two: [`Rules::parse`] refuses a rule that reads a missing, full or closed mailbox from a 4xx or
//! outside of RCPT. It also decides about replies that name us and not the recipient (`parties`). Reading cannot fail. `words`
//! reduces a text to plain words without names, so that the mailbox `spam.unknown@` is no evidence; `phrases` finds phrases in
//! them, or tells that there is nothing else, and `rules` puts both together.

mod answers;
pub mod bounce;
mod file;
mod hint;
mod parties;
mod pattern;
mod phrases;
mod rules;
mod words;

use std::sync::Arc;

pub use answers::Undeliverable;
pub use file::RuleError;
pub use parties::DialogParties;
pub(crate) use rules::NAMES_CLIENT;
pub use rules::Rules;

/// Stage of the dialog that a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DialogStage {
    /// The banner.
    Connect,
    /// The answer to EHLO or HELO.
    Ehlo,
    /// The answer to STARTTLS.
    StartTls,
    /// The answer to MAIL FROM.
    Mail,
    /// The answer to RCPT TO.
    Rcpt,
    /// A reply without a command, such as a sudden 421.
    Unsolicited,
}

/// Why a server refuses *us*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AboutUs {
    /// Our address or network is on a block list or has a bad reputation.
    Blocked,
    /// We send too many commands, or too fast.
    RateLimited,
    /// Our reverse name or HELO is refused.
    Identity,
    /// Our MAIL FROM (its domain, SPF, DMARC) is refused.
    Sender,
    /// The server requires TLS.
    TlsRequired,
    /// The server requires a login.
    AuthRequired,
    /// A policy refusal without a more specific cause.
    Policy,
}

/// Meaning of a reply. Only an answer about the recipient can make an address undeliverable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    /// The recipient is accepted.
    Accepted,
    /// A refusal that proves that the mailbox exists (receiving rate exceeded, ...).
    Exists,
    /// No such mailbox.
    NoSuchUser,
    /// The mailbox is disabled or closed.
    Deactivated,
    /// Over quota, permanently refused (5xx).
    InboxFull,
    /// Over quota, temporarily refused (4xx).
    QuotaTemporary,
    /// Exists, but accepts certain senders only.
    Restricted,
    /// The server does not tell (252).
    CannotVerify,
    /// Greylisting: retry later with the same sender and source IP.
    Greylisted,
    /// The server verifies the recipient itself: retry in seconds.
    InProgress,
    /// Microsoft 365's 5.4.1 Access denied: no such user only where the domain is known to accept others.
    AccessDenied,
    /// A client refusal; says nothing about the recipient.
    AboutUs(AboutUs),
    /// This host does not take mail for the domain (relaying denied, ...).
    NotResponsible,
    /// The session or transaction takes no more recipients or errors; the recipient was not checked.
    SessionLimit,
    /// Busy, broken, out of resources: a temporary failure of the server.
    ServerTemporary,
    /// Permanent failure of the server, by its own words (5xx).
    ServerPermanent,
    /// The address needs SMTPUTF8.
    NeedsSmtpUtf8,
    /// No rule matches.
    Unmatched,
}

/// A reading of one reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyReading {
    /// Meaning.
    pub meaning: Meaning,
    /// ID of the matching rule, for evidence and metrics.
    pub rule: Arc<str>,
    /// Delay that the reply asks for, in milliseconds.
    pub retry_after_ms: Option<i64>,
}
