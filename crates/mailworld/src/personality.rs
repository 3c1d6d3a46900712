//! Behavior of MX hosts: one struct of independent settings, instead of one type per kind of server.
//!
//! The default is an honest, RFC-conforming server that offers PIPELINING, STARTTLS and SMTPUTF8. Each setting changes one aspect
//! of it. Well-known kinds have names in `data/personalities.toml` ([`Personality::preset`]), which a world file can extend
//! (`base = "greylister"`).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// Point in the dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    Banner,
    /// Reply to EHLO or HELO.
    Ehlo,
    /// Reply to STARTTLS.
    Starttls,
    /// Reply to MAIL.
    Mail,
    /// Reply to RCPT.
    Rcpt,
    /// Reply to RSET.
    Rset,
    /// Reply to QUIT.
    Quit,
}

/// Server's replies to RCPT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipients {
    /// By the state of the mailboxes.
    #[default]
    Honest,
    /// Every local part is accepted.
    AcceptAll,
    /// 252 for all: reveals nothing.
    CannotVerify,
    /// Accepts or refuses at random (by the run's seed).
    FlipFlop,
    /// Accepts mail for no domain.
    RelayDenied,
    /// No mailbox exists.
    RefuseAll,
}

/// Greylisting, keyed on client, sender and recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greylist {
    /// Seconds from the first attempt of a triplet until it is accepted; an earlier retry is refused again.
    pub delay_s: u32,
    /// Whether the reply states the delay.
    #[serde(default)]
    pub hint: bool,
}

/// Refusal of the client, whatever its command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientRefusal {
    /// Point of the refusal.
    pub at: At,
    /// Name of a phrase of the dialect (`blocked`, `blocked_for_now`), or a whole reply that starts with its code.
    #[serde(default = "ClientRefusal::usual_text")]
    pub text: String,
    /// Whether the server closes the connection afterwards.
    #[serde(default)]
    pub close: bool,
    /// Transactions of the connection that are spared.
    #[serde(default)]
    pub after: u32,
}

impl ClientRefusal {
    fn usual_text() -> String {
        "blocked".to_owned()
    }
}

/// Reaction to a client that has probed too many missing mailboxes (counted for an hour).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterMisses {
    /// Misses that are answered honestly.
    pub count: u32,
    /// Reaction beyond that.
    pub then: Misbehaviour,
}

/// Treatment of a client taken for a harvester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misbehaviour {
    /// Refuses every recipient with the dialect's `blocked`.
    Block,
    /// Accepts every recipient.
    Lie,
    /// Replies 421 and closes.
    Drop,
}

/// Fate of a session after a recipient was refused permanently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterRefusal {
    /// It continues.
    #[default]
    GoesOn,
    /// The server closes the connection after the refusal.
    Closes,
    /// The server closes the connection at the next command, without a reply.
    ClosesAtNext,
    /// The server answers the commands of the same flight, and closes the connection.
    ClosesBehindFlight,
    /// The server never replies again; the connection stays open.
    FallsSilent,
}

/// Protocol violation in one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyFault {
    /// Reply that has it.
    pub at: At,
    pub kind: FaultKind,
}

/// Kinds of protocol violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A multi-line reply that never ends.
    Endless,
    /// One line of 64 KiB.
    Huge,
    /// The line end is missing, and nothing follows.
    NoLineEnd,
    /// A NUL in the text.
    Nul,
    /// Latin-1 text.
    EightBit,
    /// LF without CR.
    BareLf,
    /// Two lines of one reply have different codes.
    CodeMismatch,
    /// A code outside 200 to 599.
    BadCode,
    /// The reply is sent twice.
    Twice,
    /// Followed by replies to commands not sent yet.
    Premature,
    /// No reply; the connection stays open.
    Silence,
    /// No reply; the connection is closed.
    Close,
    /// No reply; the connection is reset.
    Reset,
}

/// Behavior of STARTTLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    #[default]
    Offered,
    /// Not offered (502).
    None,
    /// 530 to MAIL until TLS is in use.
    Required,
    /// Offered, then refused (454).
    Refused,
    /// After the 220 the server closes at the client's first bytes.
    ClosesHandshake,
    /// The server answers the handshake with bytes that are not TLS.
    Garbage,
    /// After the 220 the server is silent.
    Stalls,
    /// A plaintext reply follows the 220 in the same segment.
    Injection,
}

/// Handling of pipelined commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pipelining {
    #[default]
    Offered,
    /// Not offered, but works.
    None,
    /// Not offered; input received before a reply was sent is discarded.
    DropsEarly,
    /// Offered, but input received before a reply was sent is discarded.
    OfferedButDrops,
}

/// Delays of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerPace {
    /// Before the banner, in milliseconds.
    pub banner_ms: u64,
    /// Before each reply, in milliseconds.
    pub reply_ms: u64,
    /// Between two bytes, in milliseconds.
    pub byte_ms: u64,
}

/// Limits of the server. 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerLimits {
    /// Recipients per transaction; beyond, 452 4.5.3.
    pub rcpt_per_transaction: u32,
    /// Recipients per connection; beyond, 421.
    pub rcpt_per_session: u32,
    /// Commands per connection; beyond, the server closes silently.
    pub commands_per_session: u32,
    /// One recipient domain per transaction (451 4.3.0).
    pub one_domain: bool,
    /// Errors after which each reply is delayed by 1 s.
    pub slow_after_errors: u32,
    /// Errors after which the server replies 421 and closes.
    pub drop_after_errors: u32,
    /// Concurrent connections per client; a further one gets 421 as its banner.
    pub connections_per_source: u32,
    /// The connection is reset after this many bytes, in the middle of a reply.
    pub reset_at_byte: u64,
    /// Whether EHLO announces the limits (LIMITS, RFC 9422).
    pub announced: bool,
}

/// Behavior of one MX host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Personality {
    /// Wording of its replies: a table of `data/dialects.toml`.
    pub dialect: String,
    /// Its replies to RCPT.
    pub recipients: Recipients,
    pub greylist: Option<Greylist>,
    /// Call-out verification: a new recipient gets "in progress", and after this many seconds the truth. 0: none.
    pub callout_s: u32,
    /// Seconds after its first probe until a recipient is new again to greylisting and call-outs. 0: never.
    pub forget_s: u32,
    pub refusals: Vec<ClientRefusal>,
    pub after_misses: Option<AfterMisses>,
    /// Fate of a session in which a recipient was refused.
    pub after_refusal: AfterRefusal,
    pub faults: Vec<ReplyFault>,
    pub pace: ServerPace,
    pub limits: ServerLimits,
    pub tls: Tls,
    pub pipelining: Pipelining,
    /// Whether it supports EHLO; else 502, and HELO works.
    pub ehlo: bool,
    /// Whether it accepts internationalized addresses (RFC 6531).
    pub smtputf8: bool,
    /// Whether `+delay-2s` at the end of a local part delays the reply, and is not part of the name.
    pub plus_delay: bool,
}

impl Default for Personality {
    fn default() -> Self {
        Self {
            dialect: "postfix".to_owned(),
            recipients: Recipients::Honest,
            greylist: None,
            callout_s: 0,
            forget_s: 0,
            refusals: Vec::new(),
            after_misses: None,
            after_refusal: AfterRefusal::GoesOn,
            faults: Vec::new(),
            pace: ServerPace::default(),
            limits: ServerLimits::default(),
            tls: Tls::Offered,
            pipelining: Pipelining::Offered,
            ehlo: true,
            smtputf8: true,
            plus_delay: false,
        }
    }
}

impl Personality {
    /// A well-known kind of server, by its name in `data/personalities.toml`.
    pub fn preset(name: &str) -> Option<Self> {
        presets().get(name).map(|(personality, _)| personality.clone())
    }

    /// Names of all presets, sorted.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        presets().keys().map(String::as_str)
    }

    /// The honest server with another dialect.
    pub fn speaking(dialect: &str) -> Self {
        Self { dialect: dialect.to_owned(), ..Self::default() }
    }

    /// Adds a protocol violation.
    #[must_use]
    pub fn with_fault(mut self, at: At, kind: FaultKind) -> Self {
        self.faults.push(ReplyFault { at, kind });
        self
    }

    /// Adds a refusal; `text` is a phrase's name or a reply.
    #[must_use]
    pub fn refusing(mut self, at: At, text: &str) -> Self {
        self.refusals.push(ClientRefusal { at, text: text.to_owned(), close: false, after: 0 });
        self
    }

    /// Refuses the transactions of a connection after this many.
    #[must_use]
    pub fn with_transactions(mut self, most: u32, text: &str) -> Self {
        self.refusals.push(ClientRefusal { at: At::Mail, text: text.to_owned(), close: false, after: most });
        self
    }
}

/// Table of a preset, for `base = ` in a world file.
pub(crate) fn preset_table(name: &str) -> Option<&'static toml::Table> {
    presets().get(name).map(|(_, table)| table)
}

fn presets() -> &'static BTreeMap<String, (Personality, toml::Table)> {
    static PRESETS: OnceLock<BTreeMap<String, (Personality, toml::Table)>> = OnceLock::new();
    PRESETS.get_or_init(|| {
        let tables: BTreeMap<String, toml::Table> =
            toml::from_str(include_str!("../data/personalities.toml")).expect("the embedded table parses");
        let read = |(name, table): (String, toml::Table)| {
            let personality = table.clone().try_into().expect("an embedded personality parses");
            (name, (personality, table))
        };
        tables.into_iter().map(read).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{Personality, Tls};

    #[test]
    fn every_preset_parses_and_uses_a_known_dialect() {
        let names: Vec<_> = Personality::presets().collect();
        assert!(names.len() > 40, "{names:?}");
        for name in names {
            let preset = Personality::preset(name).unwrap();
            assert!(crate::dialect::ServerDialect::named(&preset.dialect).is_some(), "{name}: {}", preset.dialect);
        }
        assert_eq!(Personality::preset("honest"), Some(Personality::default()));
        assert_eq!(Personality::preset("tls_only").unwrap().tls, Tls::Required);
        assert_eq!(Personality::preset("no such"), None);
    }
}
