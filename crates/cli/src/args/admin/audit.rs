//! The command line of `audit`.

use clap::Args;

use super::AdminOptions;

/// Shown below the help of `audit`.
pub(in crate::args) const AUDIT_EXAMPLES: &str = "\
Examples:
    probity audit                                    exit code 1 where something does not agree
    probity audit --json | jq -r .rule";

/// `audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
}
