//! Connection, list of rules, rule or run in a path, by the names of its parameters.

use probity_account::connections::RuleKind;
use probity_account::id::{JobId, RuleId};
use probity_service::connections::ConnectionPlace;
use serde::Deserialize;

/// List of keyword rules.
#[derive(Deserialize)]
pub(crate) struct AtRules {
    #[serde(flatten)]
    pub(crate) place: ConnectionPlace,
    pub(crate) kind: RuleKind,
}

/// Keyword rule.
#[derive(Deserialize)]
pub(crate) struct AtRule {
    #[serde(flatten)]
    pub(crate) list: AtRules,
    pub(crate) rule_id: RuleId,
}

/// Run of a connection.
#[derive(Deserialize)]
pub(crate) struct AtRun {
    #[serde(flatten)]
    pub(crate) place: ConnectionPlace,
    pub(crate) run_id: JobId,
}
