//! Kinds of outcomes: what many results of a job have in common.
//!
//! Of a million results most differ in nothing but their row, so whatever keeps results, a part or a block, keeps each kind
//! that occurs in it once.

use probity_mail::verdict::Reason;
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};

/// Everything about an outcome but its row, its time and what was perhaps meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// After the organization's overrides.
    pub reason: Reason,
    /// What was found before the overrides, in the order of [`Reason::ALL`]; nothing where the address is valid.
    pub findings: Vec<Reason>,
    /// What decided, as a short token; empty where the verdict is `valid`.
    pub meta: String,
    /// The rule that decided.
    pub rule: String,
    /// The code of the deciding reply.
    pub smtp_code: Option<u16>,
    /// Its enhanced code (RFC 3463), as `5.1.1`.
    pub enhanced: Option<String>,
    /// The exchanger that was asked.
    pub host: Option<String>,
    /// The id of the mail provider that the domain's exchangers belong to.
    pub provider: Option<String>,
    /// Where the deciding facts came from, as `explain` names it.
    pub source: String,
    /// Bits, as the server reads them: role, disposable, free, relay, gibberish.
    pub flags: i64,
    /// Whether it costs a credit.
    pub charged: bool,
}

/// The stored form: texts for what has names, so that a later version with more of them reads the same.
#[derive(Serialize, Deserialize)]
struct Stored(
    String,
    Vec<String>,
    String,
    String,
    Option<u16>,
    Option<String>,
    Option<String>,
    String,
    i64,
    bool,
    #[serde(default)] Option<String>,
);

impl Kind {
    /// The reason before the overrides.
    pub fn raw_reason(&self) -> Reason {
        self.findings.first().copied().unwrap_or(Reason::Valid)
    }

    /// What is left of an outcome whose address was erased: what is counted, the reason, the price and the provider.
    pub fn erased(reason: Reason, charged: bool, provider: Option<String>) -> Self {
        let findings = Some(reason).filter(|reason| *reason != Reason::Valid);
        Self {
            reason,
            findings: findings.into_iter().collect(),
            meta: String::new(),
            rule: String::new(),
            smtp_code: None,
            enhanced: None,
            host: None,
            source: String::new(),
            flags: 0,
            charged,
            provider,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let name = |reason: &Reason| reason.as_str().to_owned();
        let stored = Stored(
            name(&self.reason),
            self.findings.iter().map(name).collect(),
            self.meta.clone(),
            self.rule.clone(),
            self.smtp_code,
            self.enhanced.clone(),
            self.host.clone(),
            self.source.clone(),
            self.flags,
            self.charged,
            self.provider.clone(),
        );
        serde_json::to_vec(&stored).expect("a kind is plain JSON")
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored = serde_json::from_slice(bytes).map_err(|error| StoreError::Corrupt(error.into()))?;
        let Stored(reason, findings, meta, rule, smtp_code, enhanced, host, source, flags, charged, provider) = stored;
        let known = |name: &String| Reason::from_name(name).ok_or_else(|| StoreError::corrupt("a result's reason"));
        Ok(Self {
            reason: known(&reason)?,
            findings: findings.iter().map(known).collect::<Result<_>>()?,
            meta,
            rule,
            smtp_code,
            enhanced,
            host,
            provider,
            source,
            flags,
            charged,
        })
    }
}
