//! The command line of `suppressions`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_core::suppression::List;

use super::{AdminOptions, SomeOrg};

/// Shown below the help of `suppressions`.
pub(in crate::args) const SUPPRESSIONS_EXAMPLES: &str = "\
Examples:
    probity suppressions count
    probity suppressions find jo@example.org
    probity suppressions add bounced jo@example.org
    probity suppressions add complained - < complaints.txt
    probity suppressions remove bounced --all";

/// `suppressions`.
#[derive(Debug, Args)]
pub(crate) struct SuppressionsArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: SuppressionsCommand,
}

/// The commands about suppression lists.
#[derive(Debug, Subcommand)]
pub(crate) enum SuppressionsCommand {
    /// Says how many addresses each list has
    Count(SomeOrg),
    /// Says on which lists an address is, however it is spelled there
    Find {
        /// The address
        #[arg(value_name = "ADDRESS")]
        email: String,
        /// Whose lists.
        #[command(flatten)]
        org: SomeOrg,
    },
    /// Puts addresses on a list
    Add(TheseAddresses),
    /// Takes addresses off a list
    Remove {
        /// Which.
        #[command(flatten)]
        these: TheseAddresses,
        /// Takes all off
        #[arg(long, conflicts_with = "addresses")]
        all: bool,
    },
}

/// A list, and addresses.
#[derive(Debug, Args)]
pub(crate) struct TheseAddresses {
    /// Which list
    #[arg(value_name = "LIST", value_parser = PossibleValuesParser::new(List::ALL.map(List::as_str)))]
    pub list: String,
    /// The addresses; `-` reads them from standard input, one a line
    #[arg(value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Whose list.
    #[command(flatten)]
    pub org: SomeOrg,
}
