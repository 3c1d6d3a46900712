//! `Reply -> Meaning`, by rules that are data.
//!
//! A reply may be about *us* (our address, name, rate, sender), about the *server* (busy, broken, not responsible for the
//! domain) or about the *recipient*. Only the last can make an address undeliverable, and a wrong "no such user" is the
//! worst mistake this crate can make; so everything here leans the other way. The order of evidence:
//!
//! 1. the class digit: a 2xx is an acceptance, and what is said with a 4xx never makes an address undeliverable;
//! 2. the stage: only an answer to RCPT can be about the recipient (and need not be: servers put off refusals of the
//!    client to that stage);
//! 3. the rules of `data/replies.toml`, the first that fits: those of the answering provider, then the general ones, from
//!    unmistakable wording over enhanced codes (RFC 3463, RFC 5248) to loose wording. 5.7.x is about us unless a rule of
//!    the first two kinds says otherwise;
//! 4. what is left is [`Meaning::Unmatched`] (5xx) or [`Meaning::ServerTemporary`] (4xx, rule `class.4xx`).
//!
//! The first two are not left to the data: [`Rules::parse`] refuses a rule that would make a recipient undeliverable from
//! a 4xx or outside of RCPT. Reading cannot fail. Texts are reduced to plain words first (`words`), which takes
//! addresses out of them, so that a mailbox called `spam.unknown@` does not judge itself. One pass of an automaton finds
//! all phrases (`phrases`), and rules are masks over what was found (`rules`). Regular expressions were rejected: a pass
//! for each rule, and their authors forget word ends.

mod answers;
mod file;
mod hint;
mod pattern;
mod phrases;
mod rules;
mod words;

use std::sync::Arc;

pub use answers::Undeliverable;
pub use file::RuleError;
pub use rules::Rules;

/// Where in the dialogue a reply came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
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
    /// A reply that answers nothing (a 421 out of the blue).
    Unsolicited,
}

/// Why a server refuses *us*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AboutUs {
    /// Our address or network is on a block list or has a bad reputation.
    Blocked,
    /// We ask too much or too fast.
    RateLimited,
    /// Our reverse name or HELO is not to their taste.
    Identity,
    /// Our MAIL FROM (its domain, SPF, DMARC) is not to their taste.
    Sender,
    /// They want TLS.
    TlsRequired,
    /// They want a login.
    AuthRequired,
    /// A policy refusal that names nothing else.
    Policy,
}

/// What a reply says. Only an answer about the recipient can make an address undeliverable.
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
    /// Exists, but takes mail from certain senders only.
    Restricted,
    /// The server will not say (252).
    CannotVerify,
    /// Greylisting: come back later with the same sender and source.
    Greylisted,
    /// The server is checking the recipient itself: come back in seconds.
    InProgress,
    /// Microsoft 365's 5.4.1 Access denied: no such user only where the domain is known to accept others.
    AccessDenied,
    /// A refusal of us; says nothing about the recipient.
    AboutUs(AboutUs),
    /// This host does not take mail for the domain (relaying denied, ...).
    NotResponsible,
    /// No more recipients or errors in this session or transaction; the question was not answered.
    SessionLimit,
    /// Busy, broken, out of resources: a temporary failure of the server.
    ServerTemporary,
    /// The server is broken for good as far as it says (5xx about itself).
    ServerPermanent,
    /// The server needs an extension that was not used (SMTPUTF8).
    NeedsSmtpUtf8,
    /// No rule knows this reply.
    Unmatched,
}

/// A reading of one reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it says.
    pub meaning: Meaning,
    /// The id of the rule that says so, for evidence and metrics.
    pub rule: Arc<str>,
    /// How long the reply asks to wait, in milliseconds.
    pub retry_after_ms: Option<i64>,
}
