use clap::Args;

use super::AdminOptions;

/// Shown below the help of `nodes`.
pub(in crate::args) const NODES_EXAMPLES: &str = "\
Examples:
    probity nodes
    probity nodes --json | jq -r 'select(.alive) | .hostname'";

#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    #[command(flatten)]
    pub options: AdminOptions,
}
