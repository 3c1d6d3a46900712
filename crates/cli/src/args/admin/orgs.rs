use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_account::plans::Entitlement;

use super::{AdminOptions, name};
use crate::admin::Own;

/// Shown below the help of `orgs`.
pub(in crate::args) const ORGS_EXAMPLES: &str = "\
Examples:
    probity orgs create 'Example Ltd' --plan metered
    probity orgs list --json
    probity orgs change org_01h455vb4pex5vsknk084sn02q --plan team --seats 20
    probity orgs suspend org_01h455vb4pex5vsknk084sn02q --reason 'invoice 17 is open'
    probity orgs lift org_01h455vb4pex5vsknk084sn02q";

#[derive(Debug, Args)]
pub(crate) struct OrgsArgs {
    #[command(flatten)]
    pub options: AdminOptions,
    #[command(subcommand)]
    pub command: OrgsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrgsCommand {
    /// Create an organization
    Create {
        /// Displayed name
        #[arg(value_parser = name)]
        name: String,
        /// Plan, one of those that `probity plans` lists; default: `credits.plan`
        #[arg(long)]
        plan: Option<String>,
    },
    /// List all organizations
    List,
    /// Show an organization with its plan, its period and its own limits
    Show(OneOrg),
    /// Change an organization; `plan` instead of a number restores the plan's value
    Change(OrgChangeArgs),
    /// Suspend an organization: its keys get 403 until the suspension is lifted
    Suspend(Hold),
    /// Pause an organization at its own request; its keys get 403 until the pause is lifted
    Pause(Hold),
    /// Ban an organization: cancel its jobs; its keys get 403 until the ban is lifted
    Ban(Hold),
    /// Mark an organization as under review; it keeps working
    Review(Hold),
    /// Lift a suspension, pause, ban or review
    Lift(OneOrg),
}

#[derive(Debug, Args)]
pub(crate) struct OrgChangeArgs {
    #[command(flatten)]
    pub one: OneOrg,
    /// Displayed name
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// New plan, from today: the old plan's monthly credits expire, the new plan's are granted
    #[arg(long)]
    pub plan: Option<String>,
    /// Maximum number of team members
    #[arg(long, value_name = "N", value_parser = Own::parse)]
    pub seats: Option<Own>,
    /// Requests per minute of all keys together
    #[arg(long, value_name = "PER_MINUTE", value_parser = Own::parse)]
    pub rate: Option<Own>,
    /// Threshold below which the balance is low
    #[arg(long, value_name = "N", value_parser = Own::parse)]
    pub low_balance: Option<Own>,
    /// Entitlement to grant, regardless of the plan; repeatable
    #[arg(long, value_name = "ENTITLEMENT", value_parser = PossibleValuesParser::new(Entitlement::ALL.map(Entitlement::as_str)))]
    pub entitle: Vec<String>,
    /// Entitlement to deny, regardless of the plan; repeatable
    #[arg(long, value_name = "ENTITLEMENT", value_parser = PossibleValuesParser::new(Entitlement::ALL.map(Entitlement::as_str)))]
    pub deny: Vec<String>,
    /// Entitlement to leave to the plan again; repeatable
    #[arg(long, value_name = "ENTITLEMENT", value_parser = PossibleValuesParser::new(Entitlement::ALL.map(Entitlement::as_str)))]
    pub as_plan: Vec<String>,
}

/// Restriction of an organization.
#[derive(Debug, Args)]
pub(crate) struct Hold {
    #[command(flatten)]
    pub one: OneOrg,
    /// Reason, for operators; customers never see it
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OneOrg {
    /// Organization ID
    #[arg(value_name = "ORG")]
    pub org: String,
}
