use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::{AdminOptions, OrgFlag};

/// Shown below the help of `usage`.
pub(super) const USAGE_EXAMPLES: &str = "\
Examples:
    probity usage report --period this_year
    probity usage report --connection conn_01h455vb4pex5vsknk084sn02q
    probity usage daily --days 90 --json
    probity usage breakdown --by key --from 2026-11-01
    probity usage providers";

/// Shown below the help of `timeline`.
pub(super) const TIMELINE_EXAMPLES: &str = "\
Examples:
    probity timeline --days 7
    probity timeline --days 90 --summary --json";

/// Report periods of the API.
const PERIODS: [&str; 4] = ["this_week", "this_month", "this_year", "lifetime"];

/// Dimensions of the API.
const DIMENSIONS: [&str; 6] = ["status", "source", "key", "connection", "provider", "domain"];

#[derive(Debug, Subcommand)]
pub(crate) enum UsageCommand {
    /// Show how many addresses were verified in a period, and the results
    Report {
        /// Calendar period, in UTC
        #[arg(long, default_value = "this_month", value_parser = PossibleValuesParser::new(PERIODS))]
        period: String,
        /// Only lists of this connection; not with `lifetime`
        #[arg(id = "connection_id", long = "connection", value_name = "CONNECTION_ID")]
        connection: Option<String>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Show verifications per day, oldest first
    Daily {
        /// Number of days, up to today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        /// Only lists of this connection
        #[arg(id = "connection_id", long = "connection", value_name = "CONNECTION_ID")]
        connection: Option<String>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Show verifications by status, source, API key, connection, mail provider or domain; the largest first
    Breakdown {
        /// Dimension
        #[arg(long, default_value = "source", value_parser = PossibleValuesParser::new(DIMENSIONS))]
        by: String,
        /// Only this ID, name or domain
        #[arg(long)]
        id: Option<String>,
        /// First day in UTC, such as 2026-11-01; default 29 days before the last
        #[arg(long, value_name = "DATE")]
        from: Option<String>,
        /// Last day in UTC; default today
        #[arg(long, value_name = "DATE")]
        to: Option<String>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Show verifications and unknown results by mail provider
    Providers {
        /// Number of days, up to today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        #[command(flatten)]
        org: OrgFlag,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    #[command(flatten)]
    pub options: AdminOptions,
    /// Number of days, up to today
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
    pub days: u32,
    /// Maximum number of events
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Show counts of all events in these days, instead of the newest events
    #[arg(long)]
    pub summary: bool,
    #[command(flatten)]
    pub org: OrgFlag,
}
