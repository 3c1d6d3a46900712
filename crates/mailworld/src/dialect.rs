//! Wordings of servers' replies: `data/dialects.toml`, compiled once.
//!
//! A phrase is a reply with placeholders. It is split into pieces when the table is read, so that replying copies bytes and formats
//! nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;

/// Kind of reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phrase {
    Banner,
    /// MAIL is accepted.
    SenderAccepted,
    /// RCPT is accepted.
    Accepted,
    /// No such mailbox.
    Missing,
    /// The mailbox is closed.
    Disabled,
    /// The mailbox is full (5xx).
    Full,
    /// The mailbox is full (4xx).
    FullForNow,
    /// Only certain senders may write to it.
    Restricted,
    /// The mailbox gets too much mail.
    OverRate,
    /// Temporarily unable to check.
    Unavailable,
    /// Greylisted, without a hint.
    Greylisted,
    /// Greylisted, with the time to wait.
    GreylistedHint,
    /// Recipient verification is in progress.
    InProgress,
    /// The client is refused permanently.
    Blocked,
    /// The client is refused temporarily.
    BlockedForNow,
    /// Too many recipients in a transaction.
    TooManyRecipients,
    /// Too many errors.
    TooManyErrors,
    /// Too many connections.
    TooManyConnections,
    SessionOver,
    /// Only one recipient domain for each transaction.
    OneDomain,
    /// Not responsible for the domain.
    RelayDenied,
    /// Code 252: cannot verify.
    CannotVerify,
    /// TLS is required first.
    TlsRequired,
    /// The client was silent too long.
    Idle,
    /// Reply to QUIT.
    Goodbye,
}

/// Parties that a reply is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub host: &'a str,
    pub client: IpAddr,
    pub helo: &'a str,
    pub sender: &'a str,
    pub local: &'a str,
    pub domain: &'a str,
    pub seconds: u32,
}

#[derive(Clone, Debug)]
enum TemplatePiece {
    Bytes(Box<[u8]>),
    Rcpt,
    Local,
    Domain,
    Sender,
    Client,
    Helo,
    Host,
    Seconds,
    Minutes,
}

/// A reply with placeholders, in CRLF lines.
#[derive(Clone, Debug)]
pub(crate) struct ReplyTemplate(Vec<TemplatePiece>);

impl ReplyTemplate {
    /// Parses `"550-5.1.1 no {rcpt}\n550 5.1.1 here"`. Unknown words in braces stay unchanged.
    pub(crate) fn parse(source: &str) -> Self {
        let mut pieces = Vec::new();
        let lines = source.trim_end().replace('\n', "\r\n") + "\r\n";
        let mut plain = String::new();
        let mut left = lines.as_str();
        while let Some(open) = left.find('{') {
            let close = left[open..].find('}').map_or(left.len(), |n| open + n + 1);
            plain.push_str(&left[..open]);
            match placeholder(&left[open..close]) {
                Some(piece) => {
                    pieces.push(TemplatePiece::Bytes(std::mem::take(&mut plain).into_bytes().into()));
                    pieces.push(piece);
                }
                None => plain.push_str(&left[open..close]),
            }
            left = &left[close..];
        }
        plain.push_str(left);
        pieces.push(TemplatePiece::Bytes(plain.into_bytes().into()));
        Self(pieces)
    }

    pub(crate) fn render(&self, scene: &Scene<'_>, out: &mut Vec<u8>) {
        for piece in &self.0 {
            // Writing into a vector cannot fail.
            let _infallible = match piece {
                TemplatePiece::Bytes(bytes) => out.write_all(bytes),
                TemplatePiece::Rcpt => write!(out, "{}@{}", scene.local, scene.domain),
                TemplatePiece::Local => out.write_all(scene.local.as_bytes()),
                TemplatePiece::Domain => out.write_all(scene.domain.as_bytes()),
                TemplatePiece::Sender => out.write_all(scene.sender.as_bytes()),
                TemplatePiece::Client => write!(out, "{}", scene.client),
                TemplatePiece::Helo => out.write_all(scene.helo.as_bytes()),
                TemplatePiece::Host => out.write_all(scene.host.as_bytes()),
                TemplatePiece::Seconds => write!(out, "{}", scene.seconds),
                TemplatePiece::Minutes => write!(out, "{}", scene.seconds.div_ceil(60)),
            };
        }
    }
}

fn placeholder(word: &str) -> Option<TemplatePiece> {
    Some(match word {
        "{rcpt}" => TemplatePiece::Rcpt,
        "{local}" => TemplatePiece::Local,
        "{domain}" => TemplatePiece::Domain,
        "{sender}" => TemplatePiece::Sender,
        "{client}" => TemplatePiece::Client,
        "{helo}" => TemplatePiece::Helo,
        "{host}" => TemplatePiece::Host,
        "{seconds}" => TemplatePiece::Seconds,
        "{minutes}" => TemplatePiece::Minutes,
        _ => return None,
    })
}

/// All phrases of one kind of server.
#[derive(Debug)]
pub struct ServerDialect(BTreeMap<Phrase, ReplyTemplate>);

impl ServerDialect {
    /// A dialect of `data/dialects.toml`.
    pub fn named(name: &str) -> Option<Arc<Self>> {
        dialects().get(name).cloned()
    }

    /// The names of all dialects, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        dialects().keys().map(String::as_str)
    }

    pub(crate) fn text(&self, phrase: Phrase) -> &ReplyTemplate {
        self.0.get(&phrase).expect("every dialect is completed from the default one, which has every phrase")
    }
}

impl Phrase {
    /// The phrase with this name, as the data files spell it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name)).ok()
    }
}

type DialectTable = BTreeMap<String, BTreeMap<Phrase, String>>;

fn dialects() -> &'static BTreeMap<String, Arc<ServerDialect>> {
    static DIALECTS: OnceLock<BTreeMap<String, Arc<ServerDialect>>> = OnceLock::new();
    DIALECTS.get_or_init(|| {
        let table: DialectTable =
            toml::from_str(include_str!("../data/dialects.toml")).expect("the embedded table parses");
        let default = table.get("default").expect("the embedded table has a default");
        let compile = |phrases: &BTreeMap<Phrase, String>| {
            let complete = default.iter().chain(phrases);
            Arc::new(ServerDialect(complete.map(|(phrase, text)| (*phrase, ReplyTemplate::parse(text))).collect()))
        };
        table.iter().map(|(name, phrases)| (name.clone(), compile(phrases))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{DialectTable, Phrase, ReplyTemplate, Scene, ServerDialect};

    const SCENE: Scene<'_> = Scene {
        host: "mx.a.test",
        client: std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
        helo: "probe.test",
        sender: "me@probe.test",
        local: "anna",
        domain: "a.test",
        seconds: 300,
    };

    #[test]
    fn texts_are_cut_and_rendered() {
        let mut out = Vec::new();
        ReplyTemplate::parse("450-4.2.0 {rcpt} {nothing}\n450 {minutes} {").render(&SCENE, &mut out);
        assert_eq!(out, b"450-4.2.0 anna@a.test {nothing}\r\n450 5 {\r\n");
    }

    #[test]
    fn every_phrase_of_every_dialect_is_one_well_formed_reply_of_its_class() {
        let table: DialectTable = toml::from_str(include_str!("../data/dialects.toml")).unwrap();
        assert!(table.len() >= 22);
        assert_eq!(table["default"].len(), 25);
        for (name, phrases) in &table {
            for (phrase, text) in phrases {
                let lines: Vec<_> = text.lines().collect();
                let code = &lines[0][..3];
                let class: &[&str] = match phrase {
                    Phrase::Banner | Phrase::SenderAccepted | Phrase::Accepted | Phrase::Goodbye => &["2"],
                    Phrase::CannotVerify => &["252"],
                    Phrase::TooManyErrors | Phrase::SessionOver | Phrase::Idle | Phrase::TooManyConnections => &["421"],
                    Phrase::FullForNow
                    | Phrase::Unavailable
                    | Phrase::Greylisted
                    | Phrase::GreylistedHint
                    | Phrase::InProgress
                    | Phrase::BlockedForNow
                    | Phrase::TooManyRecipients
                    | Phrase::OneDomain => &["4"],
                    Phrase::OverRate => &["4", "5"],
                    _ => &["5"],
                };
                assert!(class.iter().any(|c| code.starts_with(c)), "{name} {phrase:?}: {code}");
                for (i, line) in lines.iter().enumerate() {
                    let mark = if i + 1 == lines.len() { " " } else { "-" };
                    assert!(line.starts_with(&format!("{code}{mark}")), "{name} {phrase:?}: {line}");
                    assert!(line.len() <= 510 && line.is_ascii(), "{name} {phrase:?}: {line}");
                }
            }
        }
    }

    #[test]
    fn phrases_have_names() {
        assert_eq!(Phrase::named("blocked_for_now"), Some(Phrase::BlockedForNow));
        assert_eq!(Phrase::named("550 no"), None);
        assert!(ServerDialect::named("google").is_some() && ServerDialect::named("klingon").is_none());
    }
}
