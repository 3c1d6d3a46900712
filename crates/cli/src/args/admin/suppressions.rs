use clap::{Args, Subcommand};
use probity_account::suppression::SuppressionKind;

use super::{OrgFlag, one_of};

/// Shown below the help of `suppressions`.
pub(super) const SUPPRESSIONS_EXAMPLES: &str = "\
Examples:
    probity suppressions count
    probity suppressions find jo@example.org
    probity suppressions add bounced jo@example.org
    probity suppressions add complained - < complaints.txt
    probity suppressions remove bounced --all";

#[derive(Debug, Subcommand)]
pub(crate) enum SuppressionsCommand {
    /// Show the number of addresses per list
    Count(OrgFlag),
    /// Show which lists have an address, in any spelling
    Find {
        /// Address to find
        #[arg(value_name = "ADDRESS")]
        email: String,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Add addresses to a list
    Add(SuppressionArgs),
    /// Remove addresses from a list
    Remove {
        #[command(flatten)]
        these: SuppressionArgs,
        /// Remove all addresses
        #[arg(long, conflicts_with = "emails")]
        all: bool,
    },
}

/// Suppression list and addresses.
#[derive(Debug, Args)]
pub(crate) struct SuppressionArgs {
    /// Suppression list
    #[arg(value_name = "LIST", value_parser = one_of(SuppressionKind::ALL.map(SuppressionKind::as_str), SuppressionKind::from_name))]
    pub list: SuppressionKind,
    /// Addresses; `-` reads them from standard input, one per line
    #[arg(id = "emails", value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    #[command(flatten)]
    pub org: OrgFlag,
}
