use clap::Args;

use super::AdminOptions;

/// Shown below the help of `audit`.
pub(in crate::args) const AUDIT_EXAMPLES: &str = "\
Examples:
    probity audit                                    exit code 1 if there are discrepancies
    probity audit --json | jq -r .rule";

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub options: AdminOptions,
}
