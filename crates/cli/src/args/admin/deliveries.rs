use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use probity_service::store::OutboxState;

use super::{OrgFlag, meaning, one_of};

/// Shown below the help of `deliveries`.
pub(super) const DELIVERIES_EXAMPLES: &str = "\
Examples:
    probity deliveries list --state exhausted
    probity deliveries show dlv_01h455vb4pex5vsknk084sn02q
    probity deliveries resend dlv_01h455vb4pex5vsknk084sn02q";

#[derive(Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// List deliveries, newest first
    List {
        #[command(flatten)]
        org: OrgFlag,
        /// Filter by state
        #[arg(long, value_parser = state())]
        state: Option<OutboxState>,
        /// Maximum number of deliveries
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a delivery with its body and the beginning of the last response
    Show(DeliveryArg),
    /// Resend a delivery, with all its attempts again; needs a running service
    Resend(DeliveryArg),
}

#[derive(Debug, Args)]
pub(crate) struct DeliveryArg {
    /// Delivery ID
    #[arg(value_name = "DELIVERY_ID")]
    pub delivery: String,
    #[command(flatten)]
    pub org: OrgFlag,
}

fn state() -> impl TypedValueParser<Value = OutboxState> {
    let names = [
        meaning("waiting", "Pending"),
        meaning("delivered", "Accepted by the endpoint"),
        meaning("exhausted", "Failed after the last attempt"),
        meaning("cancelled", "Canceled before it was delivered"),
    ];
    one_of(names, |name| name.parse().ok())
}
