use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_account::plans::Entitlement;
use probity_contract::merge_patch::PatchField;
use probity_contract::published::whole::Whole;

use super::name;

/// Shown below the help of `orgs`.
pub(super) const ORGS_EXAMPLES: &str = "\
Examples:
    probity orgs create 'Example Ltd' --plan metered
    probity orgs list --json
    probity orgs change org_01h455vb4pex5vsknk084sn02q --plan team --seats 20
    probity orgs suspend org_01h455vb4pex5vsknk084sn02q --reason 'invoice 17 is open'
    probity orgs lift org_01h455vb4pex5vsknk084sn02q";

#[derive(Debug, Subcommand)]
pub(crate) enum OrgsCommand {
    /// Create an organization, and print the one-time link with which its owner sets a password
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
    Show(OrgArg),
    /// Change an organization; `plan` instead of a number restores the plan's value
    Change(OrgChangeArgs),
    /// Suspend an organization: its keys get 403 until the suspension is lifted
    Suspend(RestrictionArgs),
    /// Pause an organization at its own request; its keys get 403 until the pause is lifted
    Pause(RestrictionArgs),
    /// Ban an organization: cancel its jobs; its keys get 403 until the ban is lifted
    Ban(RestrictionArgs),
    /// Mark an organization as under review; it keeps working
    Review(RestrictionArgs),
    /// Lift a suspension, pause, ban or review
    Lift(OrgArg),
    /// Show, test and delete the single sign-on of an organization, and confirm or release its domains
    #[command(subcommand)]
    Sso(SsoCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SsoCommand {
    /// Show provider and domains; never the client's secret
    Show(OrgArg),
    /// Test whether the provider is found and can be used
    Test(OrgArg),
    /// Confirm that a claimed domain belongs to the organization, without its DNS record
    Confirm {
        #[command(flatten)]
        one: OrgArg,
        /// Domain, such as `example.com`
        #[arg(id = "domains", value_name = "DOMAIN")]
        domain: String,
    },
    /// End the proof of a domain that is no longer the organization's: nobody signs in by it, and another organization can prove it
    Release {
        #[command(flatten)]
        one: OrgArg,
        /// Domain, such as `example.com`
        #[arg(id = "domains", value_name = "DOMAIN")]
        domain: String,
    },
    /// Delete the provider: members sign in by password, or ask for a link
    Delete(OrgArg),
}

#[derive(Debug, Args)]
pub(crate) struct OrgChangeArgs {
    #[command(flatten)]
    pub one: OrgArg,
    /// Displayed name
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// New plan, from today: the old plan's monthly credits expire, the new plan's are granted
    #[arg(long)]
    pub plan: Option<String>,
    /// Maximum number of team members
    #[arg(long, value_name = "N", value_parser = own)]
    pub seats: Option<PatchField<Whole>>,
    /// Requests per minute of all keys together
    #[arg(id = "rate_limit_per_minute", long = "rate", value_name = "PER_MINUTE", value_parser = own)]
    pub rate: Option<PatchField<Whole>>,
    /// Threshold below which the balance is low
    #[arg(long, value_name = "N", value_parser = own)]
    pub low_balance: Option<PatchField<Whole>>,
    /// Entitlement to grant, regardless of the plan; repeatable
    #[arg(id = "entitlements", long = "entitle", value_name = "ENTITLEMENT", value_parser = PossibleValuesParser::new(Entitlement::ALL.map(Entitlement::as_str)))]
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
pub(crate) struct RestrictionArgs {
    #[command(flatten)]
    pub one: OrgArg,
    /// Reason, for operators; customers never see it
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OrgArg {
    /// Organization ID
    #[arg(value_name = "ORG")]
    pub org: String,
}

/// Maximum value of an organization's own number.
const OWN_MAX: i64 = 1_000_000_000;

/// Reads a number of the organization's own, or the word for its plan's.
fn own(text: &str) -> Result<PatchField<Whole>, String> {
    if text == "plan" {
        return Ok(PatchField::Cleared);
    }
    let number = text.parse().ok().filter(|number| (1..=OWN_MAX).contains(number));
    number
        .map(|number| PatchField::Given(Whole(number)))
        .ok_or_else(|| format!("must be `plan` or a number from 1 to {OWN_MAX}"))
}
