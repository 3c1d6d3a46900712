use clap::Args;

use super::AdminOptions;

#[derive(Debug, Args)]
pub(crate) struct PlansArgs {
    #[command(flatten)]
    pub options: AdminOptions,
}

/// Shown below the help of `nodes`.
pub(super) const NODES_EXAMPLES: &str = "\
Examples:
    probity nodes
    probity nodes --json | jq -r 'select(.alive) | .hostname'";

#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    #[command(flatten)]
    pub options: AdminOptions,
}

/// Shown below the help of `audit`.
pub(super) const AUDIT_EXAMPLES: &str = "\
Examples:
    probity audit                                    exit code 1 if there are discrepancies
    probity audit --json | jq -r .rule";

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub options: AdminOptions,
}
