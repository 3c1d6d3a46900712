use clap::Subcommand;
use clap::builder::TypedValueParser;
use probity_account::credits::CreditBucket;
use probity_service::operator::credits::Until;

use super::moment::time_to_come;
use super::{OrgFlag, meaning, one_of};

/// Shown below the help of `credits`.
pub(super) const CREDITS_EXAMPLES: &str = "\
Examples:
    probity credits grant --amount 10000
    probity credits grant --bucket subscription --amount 5000 --until 2026-12-31 --org org_01h455vb4pex5vsknk084sn02q
    probity credits grant --amount 10000 --reference INV-2027-001       repeating it grants nothing
    probity credits ledger
    probity credits show
    probity credits adjust --bucket prepaid --amount -250
    probity credits audit                            exit code 1 if there are discrepancies";

#[derive(Debug, Subcommand)]
pub(crate) enum CreditsCommand {
    /// Grant credits
    Grant {
        #[command(flatten)]
        org: OrgFlag,
        /// Kind of credits; subscription credits are spent first
        #[arg(long, value_parser = bucket(), default_value = "prepaid")]
        bucket: CreditBucket,
        /// Number of credits
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        amount: i64,
        /// Expiry of unused subscription credits: 30d, 2026-12-31 (the end of that day, UTC) or a time; default: the end of
        /// the plan's month, or never
        #[arg(long, value_name = "TIME", value_parser = time_to_come)]
        until: Option<Until>,
        /// Your reference, such as an invoice number; each reference grants once
        #[arg(long, value_name = "TEXT")]
        reference: Option<String>,
    },
    /// List grants, corrections and expired credits, newest first
    Ledger {
        #[command(flatten)]
        org: OrgFlag,
        /// Maximum number of entries
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show available, held and spent credits
    Show(OrgFlag),
    /// Correct the balance of an organization, up or down
    Adjust {
        #[command(flatten)]
        org: OrgFlag,
        /// Kind of credits
        #[arg(long, value_parser = bucket())]
        bucket: CreditBucket,
        /// Credits to add; a negative number removes credits
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        amount: i64,
        /// Your reference; each reference corrects once
        #[arg(long, value_name = "TEXT")]
        reference: Option<String>,
    },
    /// Check that the credit accounts of all organizations agree; can run beside the service
    Audit,
}

fn bucket() -> impl TypedValueParser<Value = CreditBucket> {
    let names = [
        meaning("subscription", "Credits of a plan's month, spent first"),
        meaning("prepaid", "Credits that never expire"),
    ];
    one_of(names, CreditBucket::from_name)
}
