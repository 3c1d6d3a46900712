//! The command line of `credits`.

use clap::{Args, Subcommand};

use super::{AdminOptions, SomeOrg};
use crate::admin::{Bucket, Moment};

/// Shown below the help of `credits`.
pub(in crate::args) const CREDITS_EXAMPLES: &str = "\
Examples:
    probity credits grant --amount 10000
    probity credits grant --bucket subscription --amount 5000 --until 2026-12-31 --org org_01h455vb4pex5vsknk084sn02q
    probity credits grant --amount 10000 --reference INV-2027-001       a second time it grants nothing
    probity credits ledger
    probity credits show
    probity credits adjust --bucket prepaid --amount -250
    probity credits audit                            exit code 1 where the books do not agree";

/// The most credits that one command moves: what an unlimited plan holds.
const CREDITS_MAX: i64 = 1_000_000_000_000;

/// `credits`.
#[derive(Debug, Args)]
pub(crate) struct CreditsArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: CreditsCommand,
}

/// The commands about credits.
#[derive(Debug, Subcommand)]
pub(crate) enum CreditsCommand {
    /// Gives credits
    Grant {
        /// Who gets them.
        #[command(flatten)]
        org: SomeOrg,
        /// Which kind: those of a subscription are spent first
        #[arg(long, value_enum, default_value = "prepaid")]
        bucket: Bucket,
        /// How many
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=CREDITS_MAX))]
        amount: i64,
        /// When what is left of a subscription expires: 30d, 2026-12-31 (the end of that day, UTC) or a time; default: with
        /// the month of its plan, or never
        #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
        until: Option<Moment>,
        /// Your name for it, such as the number of an invoice: the same one grants once
        #[arg(long, value_name = "TEXT")]
        reference: Option<String>,
    },
    /// Lists grants, corrections and what has expired, the newest first
    Ledger {
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Shows what an organization has, holds and has spent
    Show(SomeOrg),
    /// Corrects what an organization has, upward or downward
    Adjust {
        /// Whose credits.
        #[command(flatten)]
        org: SomeOrg,
        /// Which kind
        #[arg(long, value_enum)]
        bucket: Bucket,
        /// How many more, or with a minus how many less
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(i64).range(-CREDITS_MAX..=CREDITS_MAX))]
        amount: i64,
        /// Your name for it: the same one corrects once
        #[arg(long, value_name = "TEXT")]
        reference: Option<String>,
    },
    /// Checks that the books of all organizations agree; may run beside the service
    Audit,
}
