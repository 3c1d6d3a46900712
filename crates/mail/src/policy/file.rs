//! The policy file: its form, its checks and its compilation. Strict for the same reason as the rule file: a misspelled
//! limit that is silently ignored is how a source gets blocked.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::Deserialize;

use super::{GovernorPolicy, Mode, Policies, Policy, PolicyEntry, TlsPolicy};

/// The form of file that this program reads.
const FORMAT: u32 = 1;

/// No limit may be larger: a million recipients in a session is as good as none.
const LIMIT_MAX: u32 = 1_000_000;

/// Why a policy file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The entry at fault, if it is one entry's.
    pub id: Option<String>,
    /// The line of the file, from 1, if known.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(id) = &self.id {
            write!(f, "policy {id}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for PolicyError {}

/// A policy file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyFile {
    format: u32,
    /// What holds in the profile `polite` where an entry says nothing.
    #[serde(default)]
    polite: PolicySettings,
    /// What holds in the profile `open`, whatever an entry says outside of its own `open` table.
    #[serde(default)]
    open: PolicySettings,
    #[serde(default, rename = "policy")]
    policies: Vec<WrittenPolicy>,
}

#[derive(Clone, Debug, Deserialize)]
struct WrittenPolicy {
    id: String,
    #[serde(default)]
    provider: Option<String>,
    /// Suffixes of exchanger names. None at all is the entry for all other hosts.
    #[serde(default)]
    mx: Vec<String>,
    /// Where the numbers come from. For readers, but demanded.
    source: String,
    /// Settings for `open` that are facts about the server (one domain a transaction, lies).
    #[serde(default)]
    open: PolicySettings,
    /// The settings for `polite`, as a table: only then are unknown ones noticed.
    #[serde(flatten)]
    polite: toml::Table,
}

/// Every setting, each of which may be left to the defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicySettings {
    mode: Option<String>,
    connections: Option<u32>,
    session_rcpt: Option<u32>,
    flight_rcpt: Option<u32>,
    refused_per_session: Option<u32>,
    session_s: Option<u32>,
    rcpt_per_minute: Option<u32>,
    burst: Option<u32>,
    missing_per_hour: Option<u32>,
    random_counts_as_missing: Option<bool>,
    random_probe: Option<bool>,
    suspect_after_misses: Option<u32>,
    tls: Option<String>,
    governor: Option<WrittenGovernor>,
    breaker_min_s: Option<u32>,
    breaker_max_s: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGovernor {
    /// 0 switches the governor off.
    window: u32,
    slow_percent: u32,
    pause_percent: u32,
    pause_s: u32,
}

impl PolicySettings {
    /// These settings where they are set, else the others.
    fn or(self, other: &Self) -> Self {
        Self {
            mode: self.mode.or_else(|| other.mode.clone()),
            connections: self.connections.or(other.connections),
            session_rcpt: self.session_rcpt.or(other.session_rcpt),
            flight_rcpt: self.flight_rcpt.or(other.flight_rcpt),
            refused_per_session: self.refused_per_session.or(other.refused_per_session),
            session_s: self.session_s.or(other.session_s),
            rcpt_per_minute: self.rcpt_per_minute.or(other.rcpt_per_minute),
            burst: self.burst.or(other.burst),
            missing_per_hour: self.missing_per_hour.or(other.missing_per_hour),
            random_counts_as_missing: self.random_counts_as_missing.or(other.random_counts_as_missing),
            random_probe: self.random_probe.or(other.random_probe),
            suspect_after_misses: self.suspect_after_misses.or(other.suspect_after_misses),
            tls: self.tls.or_else(|| other.tls.clone()),
            governor: self.governor.or_else(|| other.governor.clone()),
            breaker_min_s: self.breaker_min_s.or(other.breaker_min_s),
            breaker_max_s: self.breaker_max_s.or(other.breaker_max_s),
        }
    }

    /// The policy; an error names the setting that is missing or out of bounds.
    fn policy(self, id: &Arc<str>, provider: Option<&Arc<str>>) -> Result<Policy, String> {
        let policy = Policy {
            id: Arc::clone(id),
            provider: provider.cloned(),
            mode: mode(&set("mode", self.mode)?)?,
            connections: bounded("connections", self.connections, 1)?,
            session_rcpt: bounded("session_rcpt", self.session_rcpt, 1)?,
            flight_rcpt: bounded("flight_rcpt", self.flight_rcpt, 1)?,
            refused_per_session: bounded("refused_per_session", self.refused_per_session, 1)?,
            session_ms: milliseconds("session_s", self.session_s)?,
            rcpt_per_minute: bounded("rcpt_per_minute", self.rcpt_per_minute, 0)?,
            burst: bounded("burst", self.burst, 1)?,
            missing_per_hour: bounded("missing_per_hour", self.missing_per_hour, 0)?,
            random_counts_as_missing: set("random_counts_as_missing", self.random_counts_as_missing)?,
            random_probe: set("random_probe", self.random_probe)?,
            suspect_after_misses: self.suspect_after_misses,
            tls: tls(&set("tls", self.tls)?)?,
            governor: governor(&set("governor", self.governor)?)?,
            breaker_ms_min: milliseconds("breaker_min_s", self.breaker_min_s)?,
            breaker_ms_max: milliseconds("breaker_max_s", self.breaker_max_s)?,
        };
        check(&policy)?;
        Ok(policy)
    }
}

impl PolicyFile {
    /// This document with an operator's own over it.
    pub(super) fn overlaid(mut self, over: Self) -> Self {
        self.polite = over.polite.or(&self.polite);
        self.open = over.open.or(&self.open);
        self.policies.retain(|policy| !over.policies.iter().any(|own| own.id == policy.id));
        for own in &over.policies {
            for policy in &mut self.policies {
                policy.mx.retain(|suffix| !own.mx.contains(suffix));
            }
        }
        self.policies.extend(over.policies);
        self
    }
}

pub(super) fn parse(text: &str) -> Result<PolicyFile, PolicyError> {
    let document: PolicyFile = toml::from_str(text).map_err(|error| PolicyError {
        id: None,
        line: error.span().map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1),
        what: error.message().to_owned(),
    })?;
    if document.format != FORMAT {
        let what = format!("format {} is not known; this program reads format {FORMAT}", document.format);
        return Err(PolicyError { id: None, line: None, what });
    }
    Ok(document)
}

/// Checks a document and makes it fast.
pub(super) fn compile(document: PolicyFile) -> Result<Policies, PolicyError> {
    let PolicyFile { polite, open, policies, .. } = document;
    let (mut entries, mut suffixes, mut fallback) = (Vec::new(), BTreeMap::new(), None);
    for written in policies {
        let number = entries.len();
        let id = written.id.clone();
        let error = |what| PolicyError { id: Some(id.clone()), line: None, what };
        for suffix in &written.mx {
            check_suffix(suffix).map_err(error)?;
            if suffixes.insert(suffix.clone(), number).is_some() {
                return Err(error(format!("the suffix {suffix:?} is used twice")));
            }
        }
        if written.mx.is_empty() && fallback.replace(number).is_some() {
            return Err(error("there is another entry without suffixes".to_owned()));
        }
        entries.push(entry(written, &polite, &open).map_err(error)?);
    }
    let what = "an entry without suffixes, for all other hosts, is missing".to_owned();
    let fallback = fallback.ok_or(PolicyError { id: None, line: None, what })?;
    Ok(Policies { entries, suffixes, fallback })
}

fn entry(written: WrittenPolicy, polite: &PolicySettings, open: &PolicySettings) -> Result<PolicyEntry, String> {
    if written.source.trim().is_empty() {
        return Err("an entry needs a source that documents its numbers".to_owned());
    }
    let id: Arc<str> = written.id.into();
    let provider: Option<Arc<str>> = written.provider.map(Into::into);
    let own: PolicySettings = written.polite.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let polite = own.or(polite).policy(&id, provider.as_ref())?;
    let open = written.open.or(open).policy(&id, provider.as_ref())?;
    Ok(PolicyEntry { polite: Arc::new(polite), open: Arc::new(open) })
}

fn set<T>(name: &str, value: Option<T>) -> Result<T, String> {
    value.ok_or_else(|| format!("{name} is set neither here nor in the defaults"))
}

fn bounded(name: &str, value: Option<u32>, least: u32) -> Result<u32, String> {
    let value = set(name, value)?;
    if (least..=LIMIT_MAX).contains(&value) { Ok(value) } else { Err(format!("{name} must be {least} to {LIMIT_MAX}")) }
}

fn milliseconds(name: &str, seconds: Option<u32>) -> Result<i64, String> {
    bounded(name, seconds, 1).map(|seconds| i64::from(seconds) * 1000)
}

fn mode(name: &str) -> Result<Mode, String> {
    match name {
        "probe" => Ok(Mode::Probe),
        "cautious" => Ok(Mode::Cautious),
        "never" => Ok(Mode::Never),
        _ => Err(format!("mode {name:?} is not one of probe, cautious, never")),
    }
}

fn tls(name: &str) -> Result<TlsPolicy, String> {
    match name {
        "opportunistic" => Ok(TlsPolicy::Opportunistic),
        "required" => Ok(TlsPolicy::Required),
        _ => Err(format!("tls {name:?} is not one of opportunistic, required")),
    }
}

fn governor(written: &WrittenGovernor) -> Result<Option<GovernorPolicy>, String> {
    if written.window == 0 {
        return Ok(None);
    }
    if written.slow_percent > written.pause_percent || written.pause_percent > 100 {
        return Err("the governor needs slow_percent <= pause_percent <= 100".to_owned());
    }
    Ok(Some(GovernorPolicy {
        window: written.window,
        slow_percent: written.slow_percent,
        pause_percent: written.pause_percent,
        pause_ms: i64::from(written.pause_s) * 1000,
    }))
}

/// What settings demand of each other.
fn check(policy: &Policy) -> Result<(), String> {
    if policy.breaker_ms_min > policy.breaker_ms_max {
        return Err("breaker_min_s is larger than breaker_max_s".to_owned());
    }
    if policy.flight_rcpt > policy.session_rcpt {
        return Err("flight_rcpt is larger than session_rcpt".to_owned());
    }
    let cautious = policy.connections == 1 && policy.flight_rcpt == 1 && !policy.random_probe;
    if policy.mode == Mode::Cautious && !cautious {
        return Err("mode cautious means one connection, one recipient a transaction and no random probe".to_owned());
    }
    Ok(())
}

fn check_suffix(suffix: &str) -> Result<(), String> {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-');
    if suffix.is_empty() || suffix.starts_with('.') || suffix.ends_with('.') || !suffix.chars().all(known) {
        return Err(format!("{suffix:?} is not a lower-case host name without a leading dot"));
    }
    Ok(())
}
