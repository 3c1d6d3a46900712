//! How an exchanger behaves: one struct of settings that compose, instead of one type for each kind of server.
//!
//! The default is an honest, RFC-conforming server that offers PIPELINING, STARTTLS and SMTPUTF8. Everything else departs
//! from it in one setting. Well-known kinds have names in `data/personalities.toml` ([`Personality::preset`]), which a
//! world file can extend (`base = "greylister"`).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// Where in the dialogue something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// The banner.
    Banner,
    /// The answer to EHLO or HELO.
    Ehlo,
    /// The answer to STARTTLS.
    Starttls,
    /// The answer to MAIL.
    Mail,
    /// The answer to RCPT.
    Rcpt,
    /// The answer to RSET.
    Rset,
    /// The answer to QUIT.
    Quit,
}

/// How the server answers RCPT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipients {
    /// As the mailboxes are.
    #[default]
    Honest,
    /// Every local part is accepted.
    AcceptAll,
    /// 252 for all: will not say.
    CannotVerify,
    /// Accepts or refuses at random (of the run's seed).
    FlipFlop,
    /// Takes no mail for any domain.
    RelayDenied,
    /// There is nobody.
    RefuseAll,
}

/// Greylisting, keyed on client, sender and recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greylist {
    /// How long a triplet waits after it was first seen, in seconds; an earlier retry is refused again.
    pub delay_s: u32,
    /// Whether the reply says how long.
    #[serde(default)]
    pub hint: bool,
}

/// A refusal of the client, whatever it asks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Where it comes.
    pub at: At,
    /// The name of a phrase of the dialect (`blocked`, `blocked_for_now`), or a whole reply that starts with its code.
    #[serde(default = "Refusal::usual_text")]
    pub text: String,
    /// The server closes the connection after it.
    #[serde(default)]
    pub close: bool,
}

impl Refusal {
    fn usual_text() -> String {
        "blocked".to_owned()
    }
}

/// What happens when one client has asked for too many mailboxes that are not there (counted for an hour).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterMisses {
    /// How many are still answered honestly.
    pub count: u32,
    /// What comes then.
    pub then: Misbehaviour,
}

/// What a server does to a client that it takes for a harvester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misbehaviour {
    /// Refuses every recipient with the dialect's `blocked`.
    Block,
    /// Accepts every recipient.
    Lie,
    /// Says 421 and closes.
    Drop,
}

/// What becomes of a session in which a recipient was refused for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterRefusal {
    /// It goes on.
    #[default]
    GoesOn,
    /// The server closes the connection behind the refusal.
    Closes,
    /// The server closes the connection at the next command, without a reply.
    ClosesAtNext,
    /// The server answers the commands that came at once, and closes the connection.
    ClosesBehindFlight,
    /// The server never answers again; the connection stays open.
    FallsSilent,
}

/// A departure from the protocol in one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// In which reply.
    pub at: At,
    /// Which.
    pub kind: FaultKind,
}

/// The departures from the protocol.
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
    /// The reply comes twice.
    Twice,
    /// Replies to questions that were not asked yet follow.
    Premature,
    /// No reply; the connection stays open.
    Silence,
    /// No reply; the connection is closed.
    Close,
    /// No reply; the connection is reset.
    Reset,
}

/// What becomes of STARTTLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// Works.
    #[default]
    Offered,
    /// Not offered (502).
    None,
    /// 530 to MAIL until it is used.
    Required,
    /// Offered and then refused (454).
    Refused,
    /// After the 220 the server closes at the client's first bytes.
    ClosesHandshake,
    /// The server answers the handshake with bytes that are no TLS.
    Garbage,
    /// After the 220 the server is silent.
    Stalls,
    /// A plaintext reply follows the 220 in the same segment.
    Injection,
}

/// What becomes of commands that are sent without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pipelining {
    /// Offered, and works.
    #[default]
    Offered,
    /// Not offered, works nevertheless.
    None,
    /// Not offered; what arrives before a reply was sent is thrown away.
    DropsEarly,
    /// Offered, and what arrives before a reply was sent is thrown away nevertheless.
    OfferedButDrops,
}

/// How slow the server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Before the banner, in milliseconds.
    pub banner_ms: u64,
    /// Before each reply, in milliseconds.
    pub reply_ms: u64,
    /// Between two bytes, in milliseconds.
    pub byte_ms: u64,
}

/// The server's limits. Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Recipients of one transaction; then 452 4.5.3.
    pub rcpt_per_transaction: u32,
    /// Recipients of one connection; then 421.
    pub rcpt_per_session: u32,
    /// Commands of one connection; then the server closes without a word.
    pub commands_per_session: u32,
    /// One recipient domain for each transaction (451 4.3.0).
    pub one_domain: bool,
    /// Errors after which each reply waits a second.
    pub slow_after_errors: u32,
    /// Errors after which the server says 421 and closes.
    pub drop_after_errors: u32,
    /// Connections of one client at a time; a further one gets 421 for a banner.
    pub connections_per_source: u32,
    /// The connection is reset after this many bytes were sent, in the middle of a reply.
    pub reset_at_byte: u64,
    /// Whether EHLO names the limits (LIMITS, RFC 9422).
    pub announced: bool,
}

/// The behaviour of one exchanger.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Personality {
    /// Whose words it uses: a table of `data/dialects.toml`.
    pub dialect: String,
    /// How it answers RCPT.
    pub recipients: Recipients,
    /// Greylisting.
    pub greylist: Option<Greylist>,
    /// Address verification by call-out: a recipient that was not asked before gets "in progress", and after this many
    /// seconds the truth. Zero: none.
    pub callout_s: u32,
    /// So many seconds after it was first asked about, a recipient is new again to greylisting and call-outs. Zero: never.
    pub forget_s: u32,
    /// Refusals of the client.
    pub refusals: Vec<Refusal>,
    /// What happens after too many misses.
    pub after_misses: Option<AfterMisses>,
    /// What becomes of a session in which a recipient was refused.
    pub after_refusal: AfterRefusal,
    /// Departures from the protocol.
    pub faults: Vec<Fault>,
    /// How slow it is.
    pub pace: Pace,
    /// Its limits.
    pub limits: Limits,
    /// What becomes of STARTTLS.
    pub tls: Tls,
    /// What becomes of pipelined commands.
    pub pipelining: Pipelining,
    /// Whether it knows EHLO; else 502, and HELO works.
    pub ehlo: bool,
    /// Whether it takes internationalized addresses (RFC 6531).
    pub smtputf8: bool,
    /// Whether `+delay-2s` at the end of a local part delays the reply (and is no part of the name).
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
            pace: Pace::default(),
            limits: Limits::default(),
            tls: Tls::Offered,
            pipelining: Pipelining::Offered,
            ehlo: true,
            smtputf8: true,
            plus_delay: false,
        }
    }
}

impl Personality {
    /// A well-known kind of server by its name in `data/personalities.toml`.
    pub fn preset(name: &str) -> Option<Self> {
        presets().get(name).map(|(personality, _)| personality.clone())
    }

    /// The names of all presets, sorted.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        presets().keys().map(String::as_str)
    }

    /// The honest server with another dialect.
    pub fn speaking(dialect: &str) -> Self {
        Self { dialect: dialect.to_owned(), ..Self::default() }
    }

    /// The same with one more departure from the protocol.
    #[must_use]
    pub fn with_fault(mut self, at: At, kind: FaultKind) -> Self {
        self.faults.push(Fault { at, kind });
        self
    }

    /// The same with one more refusal; `text` is a phrase's name or a reply.
    #[must_use]
    pub fn refusing(mut self, at: At, text: &str) -> Self {
        self.refusals.push(Refusal { at, text: text.to_owned(), close: false });
        self
    }
}

/// The table of a preset, for `base = ` in a world file.
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
            assert!(crate::dialect::Dialect::named(&preset.dialect).is_some(), "{name}: {}", preset.dialect);
        }
        assert_eq!(Personality::preset("honest"), Some(Personality::default()));
        assert_eq!(Personality::preset("tls_only").unwrap().tls, Tls::Required);
        assert_eq!(Personality::preset("no such"), None);
    }
}
