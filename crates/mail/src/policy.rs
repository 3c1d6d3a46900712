//! How each provider's exchangers want to be asked: limits and manners, as data.
//!
//! Policies are keyed on the name of the *exchanger*, never on the domain of an address: the host that responds sets the rules.
//! The longest suffix that fits wins; the entry without suffixes is for all others. Every entry has two faces: `polite`
//! (the default) holds what public traffic-shaping rules and postmaster pages suggest, started far below; `open` is for
//! one's own servers, private networks and benchmarks, where only the server's own limits count. Looking a policy up
//! costs one allocation-free walk over the labels of the host name.

pub mod bound;
mod file;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

pub use file::PolicyError;

/// The policies that ship with the program.
const EMBEDDED: &str = include_str!("../data/policies.toml");

/// Longest host name (RFC 1035 2.3.4); longer ones fit no policy but the default.
const HOST_MAX_BYTES: usize = 255;

/// Divisor of a site's burst and hourly budget: jobs leave a quarter to live calls.
pub const LIVE_SHARE: u32 = 4;

/// How many recipients must have been answered until their share of missing ones means something.
pub const GOVERNOR_SAMPLE_MIN: u32 = 50;

/// Whose manners hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PaceProfile {
    /// The manners that public mail servers expect.
    #[default]
    Polite,
    /// Only the server's own limits: for one's own servers and private networks.
    Open,
}

/// Whether and how a provider is asked at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Ask.
    Probe,
    /// Ask little: one connection, one recipient a transaction, no random recipient.
    Cautious,
    /// Do not ask: the provider accepts everybody or forbids it. The answer is that it cannot be known.
    Never,
}

/// What is demanded of a connection's privacy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsPolicy {
    /// STARTTLS where it is offered; in the clear where it fails.
    Opportunistic,
    /// STARTTLS or nothing.
    Required,
}

/// How the share of missing recipients among the last ones slows a source down at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GovernorPolicy {
    /// How many of the last recipients count.
    pub window: u32,
    /// From this share of missing ones on, in percent, the rate is halved.
    pub slow_percent: u32,
    /// From this share on, in percent, the source pauses.
    pub pause_percent: u32,
    /// How long it pauses, in milliseconds.
    pub pause_ms: i64,
}

/// How one exchanger is asked. Limits are per source address and exchanger host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The id of the entry, for evidence and metrics.
    pub id: Arc<str>,
    /// The provider, as `Rules::read` knows it; none for hosts that no entry names.
    pub provider: Option<Arc<str>>,
    /// Whether to ask at all.
    pub mode: Mode,
    /// Connections at a time.
    pub connections: u32,
    /// Recipients in one session.
    pub session_rcpt: u32,
    /// Recipients in one transaction, which is one flight of pipelined commands.
    pub flight_rcpt: u32,
    /// Refused recipients after which a session is left.
    pub refused_per_session: u32,
    /// How long a session may last, in milliseconds.
    pub session_ms: i64,
    /// Recipients a minute; 0 is without a limit.
    pub rcpt_per_minute: u32,
    /// How many recipients may come at once before the rate holds.
    pub burst: u32,
    /// Missing recipients an hour; 0 is without a limit.
    pub missing_per_hour: u32,
    /// Whether recipients that were made up count as missing ones.
    pub random_counts_as_missing: bool,
    /// Whether to ask for a made-up recipient, to find out if the server accepts everybody.
    pub random_probe: bool,
    /// After how many missing recipients in an hour the server is known to lie, so that an acceptance must be checked by
    /// a made-up recipient at the end of the session.
    pub suspect_after_misses: Option<u32>,
    /// What is demanded of TLS.
    pub tls: TlsPolicy,
    /// The governor; none lets every share of missing recipients pass.
    pub governor: Option<GovernorPolicy>,
    /// The first pause after a refusal of us, in milliseconds.
    pub breaker_ms_min: i64,
    /// The longest pause, in milliseconds; pauses double up to it.
    pub breaker_ms_max: i64,
}

impl Policy {
    /// Connections that jobs use: they leave one to live calls where there are several.
    pub fn job_connections(&self) -> u32 {
        self.connections.saturating_sub(1).max(1)
    }
}

/// All policies, ready to be looked up.
#[derive(Clone, Debug)]
pub struct Policies {
    entries: Vec<PolicyEntry>,
    /// Entries by suffix, in lower case, without a dot in front.
    suffixes: BTreeMap<String, usize>,
    /// The entry for all hosts that no suffix fits.
    fallback: usize,
}

/// One entry with its two faces.
#[derive(Clone, Debug)]
struct PolicyEntry {
    polite: Arc<Policy>,
    open: Arc<Policy>,
}

impl Policies {
    /// The policies that ship with the program.
    pub fn embedded() -> &'static Self {
        static POLICIES: OnceLock<Policies> = OnceLock::new();
        POLICIES.get_or_init(|| Self::parse(EMBEDDED).expect("the shipped policies are valid, which a test checks"))
    }

    /// Policies from the text of a data file that stands for itself.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        file::compile(file::parse(text)?)
    }

    /// The shipped policies with an operator's own over them: entries of the same id are replaced, `[polite]` and `[open]`
    /// hold where the operator's file sets them.
    pub fn embedded_with(text: &str) -> Result<Self, PolicyError> {
        file::compile(file::parse(EMBEDDED)?.overlaid(file::parse(text)?))
    }

    /// How to ask this exchanger.
    pub fn for_exchanger(&self, mx_host: &str, profile: PaceProfile) -> Arc<Policy> {
        let entry = &self.entries[self.entry_of(mx_host)];
        match profile {
            PaceProfile::Polite => Arc::clone(&entry.polite),
            PaceProfile::Open => Arc::clone(&entry.open),
        }
    }

    /// The ids of all entries, in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.polite.id)
    }

    /// The entry with the longest suffix of whole labels.
    fn entry_of(&self, mx_host: &str) -> usize {
        let host = mx_host.strip_suffix('.').unwrap_or(mx_host);
        if host.len() > HOST_MAX_BYTES {
            return self.fallback;
        }
        let mut buffer = [0_u8; HOST_MAX_BYTES];
        let lower = &mut buffer[..host.len()];
        lower.copy_from_slice(host.as_bytes());
        lower.make_ascii_lowercase();
        let Ok(mut suffix) = std::str::from_utf8(lower) else {
            return self.fallback;
        };
        loop {
            if let Some(entry) = self.suffixes.get(suffix) {
                return *entry;
            }
            match suffix.split_once('.') {
                Some((_, rest)) => suffix = rest,
                None => return self.fallback,
            }
        }
    }
}

#[cfg(test)]
mod tests;
