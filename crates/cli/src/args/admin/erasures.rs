//! The command line of `erasures`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{AdminOptions, SomeOrg};

/// Shown below the help of `erasures`.
pub(in crate::args) const ERASURES_EXAMPLES: &str = "\
Examples:
    probity erasures erase ann@example.com           from everything that was submitted before
    probity erasures erase --file addresses.txt --org org_01h455vb4pex5vsknk084sn02q
    probity erasures list
    probity erasures show era_01h455vb4pex5vsknk084sn02q

A running service carries them out.";

/// `erasures`.
#[derive(Debug, Args)]
pub(crate) struct ErasuresArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: ErasuresCommand,
}

/// The commands about erasures.
#[derive(Debug, Subcommand)]
pub(crate) enum ErasuresCommand {
    /// Has addresses erased; cannot be undone
    Erase {
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
        /// The addresses
        #[arg(value_name = "ADDRESS")]
        addresses: Vec<String>,
        /// A file with more of them, one a line
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Lists them, the newest first
    List {
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Shows one: whether it is done, and what was erased
    Show {
        /// The erasure's id
        #[arg(value_name = "ERASURE_ID")]
        erasure: String,
        /// Whose it is.
        #[command(flatten)]
        org: SomeOrg,
    },
}
