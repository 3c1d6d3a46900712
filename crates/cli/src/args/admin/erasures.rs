use std::path::PathBuf;

use clap::Subcommand;

use super::OrgFlag;

/// Shown below the help of `erasures`.
pub(super) const ERASURES_EXAMPLES: &str = "\
Examples:
    probity erasures erase ann@example.com           from everything submitted before
    probity erasures erase --file addresses.txt --org org_01h455vb4pex5vsknk084sn02q
    probity erasures list
    probity erasures show era_01h455vb4pex5vsknk084sn02q

A running service erases the addresses.";

#[derive(Debug, Subcommand)]
pub(crate) enum ErasuresCommand {
    /// Erase addresses; this cannot be undone
    Erase {
        #[command(flatten)]
        org: OrgFlag,
        /// Addresses to erase
        #[arg(id = "emails", value_name = "ADDRESS")]
        addresses: Vec<String>,
        /// File with more addresses, one per line
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// List erasure requests, newest first
    List {
        #[command(flatten)]
        org: OrgFlag,
        /// Maximum number of erasure requests
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show whether an erasure request is complete, and what was erased
    Show {
        /// Erasure ID
        #[arg(value_name = "ERASURE_ID")]
        erasure: String,
        #[command(flatten)]
        org: OrgFlag,
    },
}
