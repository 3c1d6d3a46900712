//! What was found out about a row: the raw verdict, and the result that the organization's lists and settings make of it.

use std::sync::Arc;

use probity_account::credits::is_free;
use probity_account::overrides::Overrides;
use probity_account::suppression::{self, List};
use probity_mail::verdict::{Flags, Reason, Verdict, Verification};
use probity_store::jobs::{Kind, RowResult};

use crate::jobs::chunk::Row;

/// The source of a row for which nothing had to be asked.
const BY_FACTS: &str = "facts";

/// A row whose address was verified.
pub struct Found {
    /// The address and what the engine says of it; none where it was erased.
    judged: Option<(Box<str>, Verdict)>,
    /// As it is without overrides.
    raw: RowResult,
}

impl Found {
    /// What the engine says of a row's address.
    pub(super) fn new(row: Row, verification: &Verification) -> Self {
        let verdict = &verification.verdict;
        let probe = verification.evidence.probe.as_deref();
        let domain = verification.evidence.domain.as_ref();
        let kind = Kind {
            reason: verdict.reason,
            findings: verdict.findings.iter().map(|finding| finding.reason).collect(),
            meta: verdict.meta.clone().into_owned(),
            rule: verdict.rule.to_string(),
            smtp_code: probe.and_then(|probe| probe.code),
            enhanced: probe.and_then(|probe| probe.enhanced).map(|enhanced| enhanced.to_string()),
            host: probe.map(|probe| probe.host.to_string()),
            provider: domain.and_then(|domain| domain.provider.as_deref()).map(Into::into),
            source: verification.evidence.source.name().unwrap_or(BY_FACTS).to_owned(),
            flags: bits(verification.flags),
            charged: !is_free(verdict.reason),
        };
        let raw = RowResult {
            idx: row.idx,
            copies: row.copies,
            kind: kind.into(),
            suggestion: verification.suggestion.clone(),
        };
        Self { judged: row.email.map(|email| (email, verdict.clone())), raw }
    }

    /// A row whose address was erased before anything was found out about it: it costs nothing.
    pub(super) fn erased(row: &Row) -> Self {
        let kind = Kind::erased(Reason::Unverified, false, None).into();
        let raw = RowResult { idx: row.idx, copies: row.copies, kind, suggestion: None };
        Self { judged: None, raw }
    }

    /// The address as it was submitted; none where it was erased.
    pub(super) fn email(&self) -> Option<&str> {
        self.judged.as_ref().map(|(email, _)| &**email)
    }

    /// The address that is suggested in the place of this one.
    pub(super) fn suggestion(&self) -> Option<&str> {
        self.raw.suggestion.as_deref()
    }

    /// The result after the suppression lists that the address is on and the overrides: what is reported changes, what was
    /// found and what it costs does not.
    pub(super) fn after(&self, lists: &[List], overrides: Option<&Overrides>) -> RowResult {
        let mut result = self.raw.clone();
        if lists.is_empty() && overrides.is_none() {
            return result;
        }
        let Some((email, verdict)) = &self.judged else { return result };
        let mut verdict = suppression::judged(verdict, lists);
        if let Some(overrides) = overrides {
            verdict = overrides.apply(&verdict, email.trim_ascii());
        }
        let kind = Arc::make_mut(&mut result.kind);
        kind.reason = verdict.reason;
        kind.meta = verdict.meta.into_owned();
        kind.rule = verdict.rule.to_string();
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
