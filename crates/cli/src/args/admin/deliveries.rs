use clap::{Args, Subcommand};

use super::{AdminOptions, SomeOrg};
use crate::admin::DeliveryState;

/// Shown below the help of `deliveries`.
pub(in crate::args) const DELIVERIES_EXAMPLES: &str = "\
Examples:
    probity deliveries list --state exhausted
    probity deliveries show dlv_01h455vb4pex5vsknk084sn02q
    probity deliveries resend dlv_01h455vb4pex5vsknk084sn02q";

#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    #[command(flatten)]
    pub options: AdminOptions,
    #[command(subcommand)]
    pub command: DeliveriesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// List deliveries, newest first
    List {
        #[command(flatten)]
        org: SomeOrg,
        /// Filter by state
        #[arg(long, value_enum)]
        state: Option<DeliveryState>,
        /// Maximum number of deliveries
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a delivery with its body and the beginning of the last response
    Show(OneDelivery),
    /// Resend a delivery, with all its attempts again; needs a running service
    Resend(OneDelivery),
}

#[derive(Debug, Args)]
pub(crate) struct OneDelivery {
    /// Delivery ID
    #[arg(value_name = "DELIVERY_ID")]
    pub delivery: String,
    #[command(flatten)]
    pub org: SomeOrg,
}
