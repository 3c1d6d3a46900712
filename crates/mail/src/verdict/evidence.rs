//! What a verdict rests on, in the shape in which `explain` shows it. Parts that were not needed are absent.

use std::net::IpAddr;
use std::sync::Arc;

use crate::classify::DialogStage;
use crate::smtp::reply::Enhanced;

/// Where the deciding facts came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvidenceSource {
    /// Nothing was asked: syntax and lists decided.
    #[default]
    Facts,
    /// An earlier verdict, still fresh.
    Cache,
    /// The DNS decided.
    Dns,
    /// A mail server was asked.
    Smtp,
    /// The sandbox.
    Sandbox,
}

impl EvidenceSource {
    /// The name in `evidence.source`; none where nothing was asked, as every part of the evidence that was not needed.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Facts => None,
            Self::Cache => Some("cache"),
            Self::Dns => Some("dns"),
            Self::Smtp => Some("smtp"),
            Self::Sandbox => Some("sandbox"),
        }
    }
}

/// One mail exchanger of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MxHost {
    /// Lower is asked first.
    pub preference: u16,
    /// The exchanger's name in A-labels.
    pub host: Arc<str>,
}

/// What the DNS says of a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainEvidence {
    /// Whether the name exists; none where that could not be found out.
    pub exists: Option<bool>,
    /// The exchangers in the order in which they are asked; the domain itself for an implicit MX (RFC 5321 §5.1). Faulty records,
    /// where nobody is asked, come last.
    pub mx: Vec<MxHost>,
    /// Whether the domain says that it takes no mail (RFC 7505).
    pub null_mx: bool,
    /// The id of the mail provider that its exchangers belong to.
    pub provider: Option<Arc<str>>,
}

/// What a mail server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeEvidence {
    /// The exchanger that was asked.
    pub host: Arc<str>,
    /// The address that was dialled, if any was.
    pub ip: Option<IpAddr>,
    /// Whether the deciding question went over TLS.
    pub tls: bool,
    /// Where in the dialogue the deciding reply came.
    pub stage: Option<DialogStage>,
    /// The reply's code.
    pub code: Option<u16>,
    /// The reply's enhanced code.
    pub enhanced: Option<Enhanced>,
    /// The reply's text: printable, at most 512 bytes, without the address that was asked about.
    pub text: String,
    /// The rule that read the reply.
    pub rule: Arc<str>,
    /// How many times the address was asked about.
    pub attempts: u32,
    /// Whether the exchanger accepts any local part of the domain; none where that is not known.
    pub catch_all: Option<bool>,
    /// The conversation, in order. Of a live question only: lists and verdicts that are kept have none.
    pub steps: Box<[ProbeStep]>,
}

/// What came of one step of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeStep {
    /// The exchanger.
    pub host: Arc<str>,
    /// What was being waited for.
    pub stage: DialogStage,
    /// Whether the question was about a made-up recipient, to learn whether the domain takes mail for anybody.
    pub random: bool,
    /// The reply's code; none where no reply came.
    pub code: Option<u16>,
    /// The reply's enhanced code.
    pub enhanced: Option<Enhanced>,
    /// The reply's text: printable, at most 512 bytes, without addresses and without names and addresses of ours.
    pub text: String,
    /// When, in milliseconds from the beginning of the probe.
    pub at_ms: u32,
}

/// Where the time went, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Names.
    pub dns: u32,
    /// Connecting.
    pub connect: u32,
    /// The dialogue.
    pub smtp: u32,
    /// From question to verdict.
    pub total: u32,
}

/// What a verdict rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// What the DNS says.
    pub domain: Option<Arc<DomainEvidence>>,
    /// What a mail server answered.
    pub probe: Option<Box<ProbeEvidence>>,
    /// Where the time went.
    pub timings: Timings,
    /// Where the deciding facts came from.
    pub source: EvidenceSource,
    /// How old they are, in seconds.
    pub age_s: u32,
}
