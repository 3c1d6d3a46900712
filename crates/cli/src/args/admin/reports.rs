//! The command line of `usage` and `timeline`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::{AdminOptions, SomeOrg};

/// Shown below the help of `usage`.
pub(in crate::args) const USAGE_EXAMPLES: &str = "\
Examples:
    probity usage report --period this_year
    probity usage report --connection conn_01h455vb4pex5vsknk084sn02q
    probity usage daily --days 90 --json
    probity usage providers";

/// Shown below the help of `timeline`.
pub(in crate::args) const TIMELINE_EXAMPLES: &str = "\
Examples:
    probity timeline --days 7
    probity timeline --days 90 --summary --json";

/// The periods of reports, as the API names them.
const PERIODS: [&str; 4] = ["this_week", "this_month", "this_year", "lifetime"];

/// `usage`.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: UsageCommand,
}

/// The commands about usage.
#[derive(Debug, Subcommand)]
pub(crate) enum UsageCommand {
    /// Says how many addresses were verified in a period, and what came out
    Report {
        /// The period, of the calendar in UTC
        #[arg(long, default_value = "this_month", value_parser = PossibleValuesParser::new(PERIODS))]
        period: String,
        /// Of this connection only; not with `lifetime`
        #[arg(long, value_name = "CONNECTION_ID")]
        connection: Option<String>,
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
    },
    /// The same day by day, the oldest first
    Daily {
        /// How many days back from today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        /// Of this connection only
        #[arg(long, value_name = "CONNECTION_ID")]
        connection: Option<String>,
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
    },
    /// Says at which mail providers addresses were verified, and how many stayed unknown there
    Providers {
        /// How many days back from today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
    },
}

/// `timeline`.
#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// How many days back
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
    pub days: u32,
    /// How many events at most
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Counts all that happened in these days, instead of naming the newest
    #[arg(long)]
    pub summary: bool,
    /// Whose.
    #[command(flatten)]
    pub org: SomeOrg,
}
