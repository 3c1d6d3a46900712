//! What an operator decides about the engine. Every time is in milliseconds.

use std::ops::RangeInclusive;
use std::sync::Arc;

use ipnet::IpNet;
use probity_mail::classify::Rules;
use probity_mail::lists::Lists;
use probity_mail::policy::Policies;
use probity_mail::time::Millis;

use crate::egress::{Guard, GuardConfig};
use crate::net::Source;

pub use probity_mail::policy::Profile;

/// Deadlines of one kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For a TCP connection.
    pub connect_ms: i64,
    /// For the banner.
    pub banner_ms: i64,
    /// For each command.
    pub command_ms: i64,
    /// For a whole session.
    pub session_ms: i64,
}

/// How long facts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheTimes {
    /// A verdict of a mailbox that takes mail.
    pub good_ms: i64,
    /// Any other verdict about the mailbox or the domain (never a refusal of us).
    pub bad_ms: i64,
    /// That a domain accepts any local part.
    pub catch_all_yes_ms: i64,
    /// That it does not.
    pub catch_all_no_ms: i64,
    /// That a domain has accepted some address.
    pub accepted_ms: i64,
}

/// The engine's configuration.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The identities to ask from; at least one.
    pub sources: Vec<Arc<Source>>,
    /// MAIL FROM: an address of the operator's that takes mail; `""` is the null sender `<>`.
    pub mail_from: String,
    /// Restraint.
    pub profile: Profile,
    /// The exchangers' port: 25 outside tests.
    pub port: u16,
    /// Whether STARTTLS is used where it is offered.
    pub starttls: bool,
    /// Deadlines of live calls.
    pub live: Deadlines,
    /// Deadlines of batches.
    pub batch: Deadlines,
    /// How long after its first try an address of a batch may be put off before it is settled as `unverified`.
    pub patience_ms: i64,
    /// The same for an address that only our own limits or an open circuit hold back: nobody was asked, so nothing is known.
    pub held_back_ms: i64,
    /// How often an address is asked about at most.
    pub attempts_max: u32,
    /// Sessions open at the same time, at most; must stay below the limit of open files.
    pub sessions_max: usize,
    /// Domains that a batch works on at the same time, at most.
    pub domains_max: usize,
    /// Lifetimes of cached facts.
    pub cache: CacheTimes,
    /// Verdicts kept at most (0 turns the cache off).
    pub verdicts_max: usize,
    /// Special-use names that count as ordinary ones (tests, private installations).
    pub special_use_allowed: Vec<String>,
    /// Networks in CIDR form that may be dialled although they are special (tests, private installations).
    pub networks_allowed: Vec<String>,
    /// Operator's files that replace or extend the embedded lists, rules and policies, by file name.
    pub data_files: std::collections::BTreeMap<String, String>,
    /// The seed of every random choice; none draws one from the system.
    pub seed: Option<u64>,
    /// The time at which each source's address was first used (same order as `sources`); a young one is warmed up.
    pub in_use_since: Vec<Option<Millis>>,
}

/// The file of `data_files` that adds rules about replies; its rules come before the embedded ones.
pub const REPLIES_FILE: &str = "replies.toml";
/// The file of `data_files` that adds provider policies or replaces embedded ones.
pub const POLICIES_FILE: &str = "policies.toml";

/// The longest HELO name (RFC 5321 §4.5.3.1.2).
const HELO_MAX: usize = 255;
/// The longest address of a path, without its brackets (RFC 5321 §4.5.3.1.3).
const MAIL_FROM_MAX: usize = 254;

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no identity to ask from.
    #[error("no source is configured; at least one is needed")]
    NoSource,
    /// A value cannot be written in an SMTP command.
    #[error("{what} {value:?} cannot be said in SMTP: {why}")]
    Unspeakable {
        /// Which value.
        what: &'static str,
        /// The value.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// A network is not in CIDR form.
    #[error("{0:?} is not a network such as 10.0.0.0/8 or fd00::/8")]
    Network(String),
    /// A data file has an error.
    #[error("{file}: {what}")]
    DataFile {
        /// The file's name.
        file: String,
        /// What is wrong, with its place.
        what: String,
    },
}

impl Default for EngineConfig {
    /// Polite manners, one source without a fixed address, the deadlines and lifetimes that public mail servers expect.
    fn default() -> Self {
        const HOUR_MS: i64 = 3_600_000;
        let source = Source { bind: None, public: None, helo: "localhost.localdomain".into(), proxy: None };
        Self {
            sources: vec![Arc::new(source)],
            mail_from: String::new(),
            profile: Profile::Polite,
            port: 25,
            starttls: true,
            live: Deadlines { connect_ms: 5_000, banner_ms: 8_000, command_ms: 8_000, session_ms: 20_000 },
            batch: Deadlines { connect_ms: 15_000, banner_ms: 60_000, command_ms: 60_000, session_ms: 300_000 },
            patience_ms: HOUR_MS,
            held_back_ms: 24 * HOUR_MS,
            attempts_max: 3,
            sessions_max: crate::descriptors::sessions_max(crate::descriptors::descriptor_limit()),
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
    /// Checks what can be checked without reading data files.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.sources.is_empty() {
            return Err(ConfigError::NoSource);
        }
        for source in &self.sources {
            speakable("the HELO name", &source.helo, 1..=HELO_MAX)?;
        }
        speakable("MAIL FROM", &self.mail_from, 0..=MAIL_FROM_MAX)
    }

    /// The guard of outgoing addresses that this configuration asks for.
    pub fn guard(&self) -> Result<Guard, ConfigError> {
        let network = |text: &String| text.parse::<IpNet>().map_err(|_| ConfigError::Network(text.clone()));
        Ok(Guard::new(GuardConfig {
            allow_networks: self.networks_allowed.iter().map(network).collect::<Result<_, _>>()?,
            own_addresses: crate::inner::own_addresses(self),
            port: self.port,
        }))
    }

    /// The embedded lists, changed by the operator's files.
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

    /// The embedded rules about replies, with the operator's before them.
    pub(crate) fn rules(&self) -> Result<Rules, ConfigError> {
        match self.data_files.get(REPLIES_FILE) {
            Some(text) => Rules::embedded_with(text).map_err(|error| in_file(REPLIES_FILE, &error)),
            None => Ok(Rules::embedded().clone()),
        }
    }

    /// The embedded policies, with the operator's in their place.
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

/// A seed from the system's entropy; 0 where it has none, which only makes random choices guessable.
pub(crate) fn drawn_seed() -> u64 {
    getrandom::u64().unwrap_or_default()
}
