//! What was found out about a row: the raw verdict, and the result that the organization's settings make of it.

use std::sync::Arc;

use probity_core::credits::is_free;
use probity_core::overrides::Overrides;
use probity_core::verdict::{Flags, Verdict, Verification};
use probity_store::jobs::{Kind, RowResult};

use super::chunk::Row;

/// A row whose address was verified.
pub(super) struct Found {
    email: Box<str>,
    verdict: Verdict,
    /// As it is without overrides.
    raw: RowResult,
}

impl Found {
    /// What the engine says of a row's address.
    pub(super) fn new(row: Row, verification: &Verification) -> Self {
        let verdict = &verification.verdict;
        let probe = verification.evidence.probe.as_deref();
        let kind = Kind {
            reason: verdict.reason,
            findings: verdict.findings.iter().map(|finding| finding.reason).collect(),
            meta: verdict.meta.clone().into_owned(),
            rule: verdict.rule.to_string(),
            smtp_code: probe.and_then(|probe| probe.code),
            enhanced: probe.and_then(|probe| probe.enhanced).map(|enhanced| enhanced.to_string()),
            host: probe.map(|probe| probe.host.to_string()),
            source: verification.evidence.source.as_str().to_owned(),
            flags: bits(verification.flags),
            charged: !is_free(verdict.reason),
        };
        let raw = RowResult {
            idx: row.idx,
            copies: row.copies,
            kind: kind.into(),
            suggestion: verification.suggestion.clone(),
        };
        Self { email: row.email, verdict: verdict.clone(), raw }
    }

    /// The result after the overrides: what is reported changes, what was found and what it costs does not.
    pub(super) fn after(&self, overrides: Option<&Overrides>) -> RowResult {
        let mut result = self.raw.clone();
        if let Some(overrides) = overrides {
            let verdict = overrides.apply(&self.verdict, self.email.trim_ascii());
            let kind = Arc::make_mut(&mut result.kind);
            kind.reason = verdict.reason;
            kind.meta = verdict.meta.into_owned();
            kind.rule = verdict.rule.to_string();
        }
        result
    }
}

/// The flags as a result keeps them.
fn bits(flags: Flags) -> i64 {
    let all = [flags.role, flags.disposable, flags.free, flags.relay, flags.gibberish];
    all.into_iter().rev().fold(0, |bits, flag| bits << 1 | i64::from(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_bits() {
        assert_eq!(bits(Flags { role: true, ..Flags::default() }), 1);
        assert_eq!(bits(Flags { gibberish: true, free: true, ..Flags::default() }), 0b10100);
    }
}
