//! The command line of `deliveries`.

use clap::{Args, Subcommand};

use super::{AdminOptions, SomeOrg};
use crate::admin::DeliveryState;

/// Shown below the help of `deliveries`.
pub(in crate::args) const DELIVERIES_EXAMPLES: &str = "\
Examples:
    probity deliveries list --state exhausted
    probity deliveries show dlv_01h455vb4pex5vsknk084sn02q
    probity deliveries resend dlv_01h455vb4pex5vsknk084sn02q";

/// `deliveries`.
#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: DeliveriesCommand,
}

/// The commands about messages to customers' servers.
#[derive(Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// Lists them, the newest first
    List {
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
        /// Those of this state only
        #[arg(long, value_enum)]
        state: Option<DeliveryState>,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Shows one with its body and the beginning of the last answer
    Show(OneDelivery),
    /// Has one sent once more, now, with all its attempts before it; a running service does it
    Resend(OneDelivery),
}

/// The message that a command is about.
#[derive(Debug, Args)]
pub(crate) struct OneDelivery {
    /// The delivery's id
    #[arg(value_name = "DELIVERY_ID")]
    pub delivery: String,
    /// Whose it is.
    #[command(flatten)]
    pub org: SomeOrg,
}
