//! What an audit found, for people and programs.

use serde::Serialize;

use super::table;

/// Something that should agree with something else and does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Discrepancy {
    /// Whose; empty where there is no such organization.
    pub organization: String,
    /// The name of the broken rule.
    pub invariant: String,
    /// What it says.
    pub rule: String,
    /// Of what: a kind of credits, a job, or a job and one of its counters; empty where all of the organization is meant.
    pub subject: String,
    /// What is said, or should be.
    pub said: i64,
    /// What was found.
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
