//! Kinds of outcomes: the shared fields of many results of a job.
//!
//! Most of a million results differ only in their row, so parts and blocks store each kind once.

use probity_mail::verdict::Reason;
use serde::{Deserialize, Serialize};

use crate::db::error::{Result, StoreError};
use crate::records::damaged;

/// An outcome without its row, its time and its suggestion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutcomeKind {
    /// Reason after the organization's overrides.
    pub reason: Reason,
    /// Findings before the overrides, in the order of [`Reason::ALL`]; empty if the address is valid.
    pub findings: Vec<Reason>,
    /// Deciding fact, as a short token; empty if the verdict is `valid`.
    pub meta: String,
    /// Rule that decided.
    pub rule: String,
    /// Code of the deciding reply.
    pub smtp_code: Option<u16>,
    /// Its enhanced code (RFC 3463), such as `5.1.1`.
    pub enhanced: Option<String>,
    /// MX host that was probed.
    pub host: Option<String>,
    /// Id of the mail provider of the domain's MX hosts.
    pub provider: Option<String>,
    /// Source of the deciding facts, as `explain` names it.
    pub source: String,
    /// Bits, as the server reads them: role, disposable, free, relay, gibberish.
    pub flags: i64,
    /// Whether it costs a credit.
    pub charged: bool,
}

/// Stored form: texts for named values, so that later versions with more of them read it unchanged.
#[derive(Serialize, Deserialize)]
struct StoredKind(
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

impl OutcomeKind {
    pub fn raw_reason(&self) -> Reason {
        self.findings.first().copied().unwrap_or(Reason::Valid)
    }

    /// Returns the outcome after its address was erased: the counted fields, reason, price and provider.
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

    pub(in crate::jobs) fn to_bytes(&self) -> Vec<u8> {
        let name = |reason: &Reason| reason.as_str().to_owned();
        let stored = StoredKind(
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

    pub(in crate::jobs) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored = serde_json::from_slice(bytes).map_err(damaged)?;
        let StoredKind(reason, findings, meta, rule, smtp_code, enhanced, host, source, flags, charged, provider) =
            stored;
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
