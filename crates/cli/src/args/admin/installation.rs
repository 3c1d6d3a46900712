/// Shown below the help of `nodes`.
pub(super) const NODES_EXAMPLES: &str = "\
Examples:
    probity nodes
    probity nodes --json | jq -r 'select(.alive) | .hostname'";

/// Shown below the help of `audit`.
pub(super) const AUDIT_EXAMPLES: &str = "\
Examples:
    probity audit                                    exit code 1 if there are discrepancies
    probity audit --json | jq -r .rule";
