//! The command line of `orgs`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_core::plans::Entitlement;

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

/// `orgs`.
#[derive(Debug, Args)]
pub(crate) struct OrgsArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: OrgsCommand,
}

/// The commands about organizations.
#[derive(Debug, Subcommand)]
pub(crate) enum OrgsCommand {
    /// Creates an organization
    Create {
        /// Its name, for people
        #[arg(value_parser = name)]
        name: String,
        /// Its plan, of those that `plans` lists; default: credits.plan
        #[arg(long)]
        plan: Option<String>,
    },
    /// Lists all organizations
    List,
    /// Shows one with its plan, its period and what is its own
    Show(OneOrg),
    /// Changes one; `plan` in the place of a number gives it what its plan says
    Change(OrgChangeArgs),
    /// Suspends one: its keys are answered 403, until it is lifted
    Suspend(Hold),
    /// Pauses one: as suspended, at its own wish
    Pause(Hold),
    /// Bans one: as suspended, for good unless it is lifted
    Ban(Hold),
    /// Marks one as under review; it goes on
    Review(Hold),
    /// Lifts a suspension, a pause, a ban or a review
    Lift(OneOrg),
}

/// `orgs change`.
#[derive(Debug, Args)]
pub(crate) struct OrgChangeArgs {
    /// Which.
    #[command(flatten)]
    pub one: OneOrg,
    /// Its name, for people
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// Another plan, from today on: credits of the old plan's month end, those of the new one's are there
    #[arg(long)]
    pub plan: Option<String>,
    /// How many people may belong to it
    #[arg(long, value_name = "N", value_parser = Own::parse)]
    pub seats: Option<Own>,
    /// Requests a minute for all its keys
    #[arg(long, value_name = "PER_MINUTE", value_parser = Own::parse)]
    pub rate: Option<Own>,
    /// Below how many credits its balance is low
    #[arg(long, value_name = "N", value_parser = Own::parse)]
    pub low_balance: Option<Own>,
    /// What it may use, whatever its plan says; several may be given
    #[arg(long, value_name = "ENTITLEMENT", value_parser = PossibleValuesParser::new(Entitlement::ALL.map(Entitlement::as_str)))]
    pub entitle: Vec<String>,
    /// What it may not use, whatever its plan says
    #[arg(long, value_name = "ENTITLEMENT", value_parser = PossibleValuesParser::new(Entitlement::ALL.map(Entitlement::as_str)))]
    pub deny: Vec<String>,
    /// What it may use if its plan says so
    #[arg(long, value_name = "ENTITLEMENT", value_parser = PossibleValuesParser::new(Entitlement::ALL.map(Entitlement::as_str)))]
    pub as_plan: Vec<String>,
}

/// An organization that is stopped or looked at.
#[derive(Debug, Args)]
pub(crate) struct Hold {
    /// Which.
    #[command(flatten)]
    pub one: OneOrg,
    /// Why, for operators: no customer sees it
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// The organization that a command is about.
#[derive(Debug, Args)]
pub(crate) struct OneOrg {
    /// The organization's id
    #[arg(value_name = "ORG")]
    pub org: String,
}
