//! Discrepancies found by an audit.

use serde::Serialize;

use super::table;

/// Two figures that should agree and do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Discrepancy {
    /// Organization ID; empty if the organization does not exist.
    pub organization: String,
    /// Name of the broken rule.
    pub invariant: String,
    /// Text of the rule.
    pub rule: String,
    /// A kind of credits, a job, or a job and one of its counters; empty means the whole organization.
    pub subject: String,
    /// Figure that is stored, or expected.
    pub said: i64,
    /// Figure that was computed.
    pub found: i64,
}

pub(super) fn audited(found: &[Discrepancy]) -> String {
    if found.is_empty() {
        return "Audit passed.\n".to_owned();
    }
    let row = |at: &Discrepancy| {
        let subject = if at.subject.is_empty() { "-" } else { &at.subject };
        vec![at.organization.clone(), subject.to_owned(), at.said.to_string(), at.found.to_string(), at.rule.clone()]
    };
    table::lines(&["ORGANIZATION", "OF", "SAID", "FOUND", "BROKEN RULE"], found.iter().map(row))
}
