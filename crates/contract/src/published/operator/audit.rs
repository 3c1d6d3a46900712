//! Findings of a database audit.

use probity_account::id::OrgId;
use probity_store::credits::audit::AuditDiscrepancy;
use serde::Serialize;

/// Mismatch between two figures that should be equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// Organization ID; empty if the organization does not exist.
    pub organization: String,
    /// Name of the broken rule.
    pub invariant: String,
    /// Text of the rule.
    pub rule: String,
    /// Kind of credits, job, or job and counter; empty for the whole organization.
    pub subject: String,
    /// Stored or expected figure.
    pub said: i64,
    /// Computed figure.
    pub found: i64,
}

impl AuditFinding {
    /// Builds the finding for a discrepancy. `org` is `None` if the organization does not exist.
    pub fn of(discrepancy: AuditDiscrepancy, org: Option<OrgId>) -> Self {
        Self {
            organization: org.map(|org| org.to_string()).unwrap_or_default(),
            invariant: discrepancy.invariant.name().to_owned(),
            rule: discrepancy.invariant.rule().to_owned(),
            subject: discrepancy.subject,
            said: discrepancy.said,
            found: discrepancy.found,
        }
    }
}
