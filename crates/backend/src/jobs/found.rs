//! Outcome of a row: the raw verdict, and the result after the organization's suppression lists and settings.

use std::sync::Arc;

use probity_account::connections::ContactStanding;
use probity_account::credits::is_free;
use probity_account::overrides::Overrides;
use probity_account::suppression::{self, SuppressionKind};
use probity_mail::address::bare_address;
use probity_mail::verdict::{Flags, Reason, Verdict, Verification};
use probity_store::jobs::{OutcomeKind, RowResult};

use crate::jobs::chunk::ChunkRow;
use crate::meter::{counted_domain, counted_provider};

/// Source of a row that needed no probe.
const BY_FACTS: &str = "facts";

/// Row whose address was verified.
pub struct VerifiedRow {
    /// Address and the engine's verdict; `None` if the address was erased.
    judged: Option<(Box<str>, Verdict)>,
    /// Result before suppression lists and overrides.
    raw: RowResult,
}

impl VerifiedRow {
    /// Creates the outcome of a verified row.
    pub(super) fn new(row: ChunkRow, verification: &Verification) -> Self {
        let verdict = &verification.verdict;
        let probe = verification.evidence.probe.as_deref();
        let kind = OutcomeKind {
            reason: verdict.reason,
            findings: verdict.findings.iter().map(|finding| finding.reason).collect(),
            meta: verdict.meta.clone().into_owned(),
            rule: verdict.rule.to_string(),
            smtp_code: probe.and_then(|probe| probe.code),
            enhanced: probe.and_then(|probe| probe.enhanced).map(|enhanced| enhanced.to_string()),
            host: probe.map(|probe| probe.host.to_string()),
            provider: row.email.as_deref().and_then(|email| counted_provider(email, &verification.evidence)),
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

    /// Creates the outcome of a row whose address was erased before it was verified. It is free.
    pub(super) fn erased(row: &ChunkRow) -> Self {
        let kind = OutcomeKind::erased(Reason::Unverified, false, None).into();
        let raw = RowResult { idx: row.idx, copies: row.copies, kind, suggestion: None };
        Self { judged: None, raw }
    }

    /// Returns the address as submitted; `None` if it was erased.
    pub(super) fn email(&self) -> Option<&str> {
        self.judged.as_ref().map(|(email, _)| &**email)
    }

    /// Returns the domain of the address; `None` if it has none that can be read.
    pub(super) fn domain(&self) -> Option<Arc<str>> {
        counted_domain(self.email()?)
    }

    /// Returns the suggested correction of the address.
    pub(super) fn suggestion(&self) -> Option<&str> {
        self.raw.suggestion.as_deref()
    }

    /// Returns the result after the address's suppression lists, what a run knows of its contact, and the overrides. They change
    /// the reported verdict, not the findings or the price.
    pub(super) fn after(
        &self,
        lists: &[SuppressionKind],
        standing: ContactStanding,
        overrides: Option<&Overrides>,
    ) -> ReportedRow {
        let mut result = self.raw.clone();
        let Some((email, raw)) = &self.judged else { return ReportedRow { result, findings: Vec::new() } };
        if lists.is_empty() && overrides.is_none() && standing == ContactStanding::default() {
            let findings = result.kind.findings.clone();
            return ReportedRow { result, findings };
        }
        let mut verdict = standing.judged(&suppression::judged(raw, lists));
        if let Some(overrides) = overrides {
            verdict = overrides.apply(&verdict, bare_address(email));
        }
        let findings = verdict.findings.iter().map(|finding| finding.reason).collect();
        let kind = Arc::make_mut(&mut result.kind);
        kind.reason = verdict.reason;
        kind.meta = verdict.meta.into_owned();
        kind.rule = verdict.rule.to_string();
        ReportedRow { result, findings }
    }

    pub(super) fn idx(&self) -> i64 {
        self.raw.idx
    }
}

pub struct ReportedRow {
    pub(super) result: RowResult,
    /// All findings that the organization does not ignore.
    pub(super) findings: Vec<Reason>,
}

/// Encodes flags as a result stores them, one bit each.
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
