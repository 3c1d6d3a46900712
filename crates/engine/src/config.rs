//! Engine configuration. All times are in milliseconds.

use std::ops::RangeInclusive;
use std::sync::Arc;

use ipnet::IpNet;
use probity_mail::classify::Rules;
use probity_mail::facts::lists::Lists;
use probity_mail::policy::Policies;
use probity_mail::time::{HOUR_MS, Millis};

use crate::net::ProbeSource;
use crate::net::egress::{EgressGuard, GuardConfig};

pub use probity_mail::policy::PaceProfile;

/// Deadlines of one kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// TCP connection.
    pub connect_ms: i64,
    pub banner_ms: i64,
    /// Each command.
    pub command_ms: i64,
    /// Whole session.
    pub session_ms: i64,
}

/// Lifetimes of cached facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheTimes {
    /// Verdict of a mailbox that accepts mail.
    pub good_ms: i64,
    /// Any other verdict about the mailbox or the domain (never a client refusal).
    pub bad_ms: i64,
    /// That a domain is a catch-all.
    pub catch_all_yes_ms: i64,
    /// That a domain is not a catch-all.
    pub catch_all_no_ms: i64,
    /// That a domain has accepted some address.
    pub accepted_ms: i64,
}

#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Identities to probe from; at least one.
    pub sources: Vec<Arc<ProbeSource>>,
    /// MAIL FROM: an operator's address that accepts mail; `""` is the null sender `<>`.
    pub mail_from: String,
    /// Probing limits.
    pub profile: PaceProfile,
    /// Port of the MX hosts: 25 outside tests.
    pub port: u16,
    /// Whether to use STARTTLS if offered.
    pub starttls: bool,
    pub live: Deadlines,
    pub batch: Deadlines,
    /// Time after the first attempt for which an address of a job may be deferred before it is settled as `unverified`.
    pub patience_ms: i64,
    /// The same for an address only throttled by our own limits or an open circuit: nothing was probed, so nothing is known.
    pub held_back_ms: i64,
    /// Maximum attempts per address.
    pub attempts_max: u32,
    /// Maximum concurrent sessions; must stay below the limit of open files.
    pub sessions_max: usize,
    /// Maximum domains that jobs work on concurrently.
    pub domains_max: usize,
    pub cache: CacheTimes,
    /// Maximum cached verdicts (0 turns the cache off).
    pub verdicts_max: usize,
    /// Special-use names treated as ordinary (tests, private installations).
    pub special_use_allowed: Vec<String>,
    /// Networks in CIDR form that may be dialed although they are special (tests, private installations).
    pub networks_allowed: Vec<String>,
    /// Operator's files that replace or extend the embedded lists, rules and policies, by file name.
    pub data_files: std::collections::BTreeMap<String, String>,
    /// Seed of every random choice; `None` draws one from the system.
    pub seed: Option<u64>,
    /// First use of each source IP (same order as `sources`); a new one is warmed up.
    pub in_use_since: Vec<Option<Millis>>,
}

/// File of `data_files` that adds reply rules; they precede the embedded ones.
pub const REPLIES_FILE: &str = "replies.toml";
/// File of `data_files` that adds provider policies or replaces embedded ones.
pub const POLICIES_FILE: &str = "policies.toml";

/// Longest HELO name (RFC 5321 §4.5.3.1.2).
const HELO_MAX: usize = 255;
/// Longest address of a path, without its brackets (RFC 5321 §4.5.3.1.3).
const MAIL_FROM_MAX: usize = 254;

/// Error of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no identity to probe from.
    #[error("no source is configured; at least one is needed")]
    NoSource,
    /// A value cannot be used in an SMTP command.
    #[error("{what} {value:?} cannot be used in SMTP: {why}")]
    Unspeakable {
        what: &'static str,
        value: String,
        /// Reason why it cannot be used.
        why: String,
    },
    /// A network is not in CIDR form.
    #[error("{0:?} is not a network such as 10.0.0.0/8 or fd00::/8")]
    Network(String),
    /// A data file has an error.
    #[error("{file}: {what}")]
    DataFile {
        file: String,
        /// The error, with its position.
        what: String,
    },
}

impl Default for EngineConfig {
    /// Polite limits, one source without a fixed address, and the deadlines and lifetimes that public mail servers expect.
    fn default() -> Self {
        let source = ProbeSource { bind: None, public: None, helo: "localhost.localdomain".into(), proxy: None };
        Self {
            sources: vec![Arc::new(source)],
            mail_from: String::new(),
            profile: PaceProfile::Polite,
            port: 25,
            starttls: true,
            live: Deadlines { connect_ms: 5_000, banner_ms: 8_000, command_ms: 8_000, session_ms: 20_000 },
            batch: Deadlines { connect_ms: 15_000, banner_ms: 60_000, command_ms: 60_000, session_ms: 300_000 },
            patience_ms: HOUR_MS,
            held_back_ms: 24 * HOUR_MS,
            attempts_max: 3,
            sessions_max: crate::net::descriptors::sessions_max(crate::net::descriptors::descriptor_limit()),
            domains_max: 2_000,
            cache: CacheTimes {
                good_ms: 24 * HOUR_MS,
                bad_ms: 2 * HOUR_MS,
                catch_all_yes_ms: 7 * 24 * HOUR_MS,
                catch_all_no_ms: 3 * HOUR_MS,
                accepted_ms: 7 * 24 * HOUR_MS,
            },
            verdicts_max: 100_000,
            special_use_allowed: Vec::new(),
            networks_allowed: Vec::new(),
            data_files: std::collections::BTreeMap::new(),
            seed: None,
            in_use_since: Vec::new(),
        }
    }
}

impl EngineConfig {
    /// Checks everything that needs no data files.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.sources.is_empty() {
            return Err(ConfigError::NoSource);
        }
        for source in &self.sources {
            speakable("the HELO name", &source.helo, 1..=HELO_MAX)?;
        }
        speakable("MAIL FROM", &self.mail_from, 0..=MAIL_FROM_MAX)
    }

    /// Egress guard for this configuration.
    pub fn guard(&self) -> Result<EgressGuard, ConfigError> {
        let network = |text: &String| text.parse::<IpNet>().map_err(|_| ConfigError::Network(text.clone()));
        Ok(EgressGuard::new(GuardConfig {
            allow_networks: self.networks_allowed.iter().map(network).collect::<Result<_, _>>()?,
            own_addresses: crate::pace::sources::own_addresses(&self.sources),
            port: self.port,
        }))
    }

    /// Embedded lists, modified by the operator's files.
    pub(crate) fn lists(&self) -> Result<Arc<Lists>, ConfigError> {
        let mut files = self.data_files.clone();
        files.retain(|name, _| name != REPLIES_FILE && name != POLICIES_FILE);
        if files.is_empty() {
            return Ok(Lists::embedded().clone());
        }
        let lists = Lists::with_files(&files)
            .map_err(|error| ConfigError::DataFile { file: error.file.clone(), what: error.to_string() })?;
        Ok(Arc::new(lists))
    }

    /// Embedded reply rules, preceded by the operator's.
    pub(crate) fn rules(&self) -> Result<Rules, ConfigError> {
        match self.data_files.get(REPLIES_FILE) {
            Some(text) => Rules::embedded_with(text).map_err(|error| in_file(REPLIES_FILE, &error)),
            None => Ok(Rules::embedded().clone()),
        }
    }

    /// Embedded policies, replaced by the operator's where given.
    pub(crate) fn policies(&self) -> Result<Policies, ConfigError> {
        match self.data_files.get(POLICIES_FILE) {
            Some(text) => Policies::embedded_with(text).map_err(|error| in_file(POLICIES_FILE, &error)),
            None => Ok(Policies::embedded().clone()),
        }
    }
}

fn in_file(file: &str, error: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::DataFile { file: file.to_owned(), what: error.to_string() }
}

fn speakable(what: &'static str, value: &str, lengths: RangeInclusive<usize>) -> Result<(), ConfigError> {
    let why = if value.is_empty() && !lengths.contains(&0) {
        "it is empty".to_owned()
    } else if value.len() > *lengths.end() {
        format!("it has {} bytes, but at most {} are possible", value.len(), lengths.end())
    } else if let Some(bad) = value.chars().find(|c| !c.is_ascii_graphic() || matches!(c, '<' | '>')) {
        format!("the character {bad:?} is not allowed")
    } else {
        return Ok(());
    };
    Err(ConfigError::Unspeakable { what, value: value.to_owned(), why })
}
