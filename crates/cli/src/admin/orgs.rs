//! Organizations: created, listed, shown, changed, restricted.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_account::plans::Entitlement;
use probity_contract::merge_patch::PatchField;
use probity_contract::published::operator::organizations::{CreateCustomer, CustomerPatch, HoldCustomer};
use probity_contract::published::whole::Whole;
use probity_service::accounts::people::sso::domains::{confirm_domain, release_domain};
use probity_service::accounts::people::sso::setup::{get_sso, remove_sso, test_sso};
use probity_service::app::App;
use probity_service::callers::once::Once;
use probity_service::operator::holds::{hold_organization, lift_hold};
use probity_service::operator::organizations::{
    change_organization, create_organization, list_all_organizations, show_organization,
};
use serde_json::Value;

use super::name;
use super::operator::{find_org, staff};
use super::users::link_text;
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::{self, AnswerColumn, at, at_or, field, field_or, made, moment, time, time_or};

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
    /// Show the provider and domains, without the client secret
    Show(OrgArg),
    /// Test whether the provider can be reached and used
    Test(OrgArg),
    /// Confirm that a claimed domain belongs to the organization, without its DNS record
    Confirm {
        #[command(flatten)]
        one: OrgArg,
        /// Domain, such as `example.com`
        #[arg(id = "domains", value_name = "DOMAIN")]
        domain: String,
    },
    /// End the proof of a domain that is no longer the organization's: its addresses can no longer use single sign-on, and another
    /// organization can prove it
    Release {
        #[command(flatten)]
        one: OrgArg,
        /// Domain, such as `example.com`
        #[arg(id = "domains", value_name = "DOMAIN")]
        domain: String,
    },
    /// Delete the provider: members sign in with a password, or ask for a link
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

pub(super) const ORGANIZATIONS: &[AnswerColumn] = &[
    at("ORGANIZATION", "/id"),
    at("STATUS", "/status"),
    at("PLAN", "/plan"),
    time("CREATED", "/created_at"),
    at("NAME", "/name"),
];

const ORGANIZATION: &[AnswerColumn] = &[
    at("organization", "/id"),
    at("name", "/name"),
    at("status", "/status"),
    at("reason", "/hold_reason"),
    at("plan", "/plan"),
    made("period", |org| format!("{} to {}", moment(org, "/period/start"), moment(org, "/period/end"))),
    time_or("renewal", "/renews_at", "none"),
    time_or("trial until", "/trial_ends_at", "none"),
    at("subscription", "/credits/subscription/available"),
    at("prepaid", "/credits/prepaid/available"),
    made("low", low),
    at_or("seats", "/seats/effective", "unlimited"),
    at_or("requests/minute", "/rate_limit_per_minute/effective", "unlimited"),
    at("entitlements", "/entitlements"),
];

const SSO_FIELDS: &[AnswerColumn] = &[
    at_or("issuer", "/provider/issuer", "none"),
    at("client", "/provider/client_id"),
    at("required", "/provider/required"),
    at("newcomers", "/provider/newcomer_role"),
    at("trusts email", "/provider/trusts_email"),
    at("redirect URI", "/redirect_uri"),
    at("obstacle", "/obstacle"),
];

const DOMAINS: &[AnswerColumn] = &[
    at("DOMAIN", "/domain"),
    time_or("PROVEN", "/proven_at", "no"),
    time_or("MISSING, COUNTS UNTIL", "/counts_until", ""),
    at("TXT RECORD", "/record_name"),
    at("TEXT", "/record_value"),
];

const SIGN_ON: AnswerView =
    AnswerView::Text(|sso| format!("{}\n{}", table::fields(SSO_FIELDS, sso), table::rows_at(DOMAINS, sso, "/domains")));

const TESTED: &[AnswerColumn] = &[at("works", "/works"), at("fault", "/message")];
const DELETED: &[AnswerColumn] = &[at("deleted", "/deleted")];

fn low(org: &Value) -> String {
    let threshold = field_or(org, "/low_balance/effective", "unlimited");
    format!("{} (below {threshold})", field(org, "/is_low"))
}

pub(super) async fn run(app: &App, command: &OrgsCommand) -> Result<Printout> {
    match command {
        OrgsCommand::Create { name, plan } => create(app, name, plan.as_deref()).await,
        OrgsCommand::List => Printout::of(list_all_organizations(app).await?, AnswerView::Rows(ORGANIZATIONS)),
        OrgsCommand::Show(one) => {
            let org = find_org(app, &one.org).await?;
            Printout::one(show_organization(app, org.id).await?, AnswerView::Fields(ORGANIZATION))
        }
        OrgsCommand::Change(args) => {
            let patch = read_change(args)?;
            check_plan(app, args.plan.as_deref())?;
            let org = find_org(app, &args.one.org).await?;
            Printout::one(change_organization(app, org.id, patch).await?, AnswerView::Fields(ORGANIZATION))
        }
        OrgsCommand::Suspend(hold) => restrict(app, hold, "suspended").await,
        OrgsCommand::Pause(hold) => restrict(app, hold, "paused").await,
        OrgsCommand::Ban(hold) => restrict(app, hold, "banned").await,
        OrgsCommand::Review(hold) => restrict(app, hold, "under_review").await,
        OrgsCommand::Lift(one) => {
            let org = find_org(app, &one.org).await?;
            Printout::one(lift_hold(app, org.id).await?, AnswerView::Rows(ORGANIZATIONS))
        }
        OrgsCommand::Sso(command) => sign_on(app, command).await,
    }
}

async fn sign_on(app: &App, command: &SsoCommand) -> Result<Printout> {
    let (SsoCommand::Show(one)
    | SsoCommand::Test(one)
    | SsoCommand::Confirm { one, .. }
    | SsoCommand::Release { one, .. }
    | SsoCommand::Delete(one)) = command;
    let caller = staff(find_org(app, &one.org).await?, false);
    match command {
        SsoCommand::Show(_) => Printout::one(get_sso(app, &caller).await?, SIGN_ON),
        SsoCommand::Test(_) => Printout::one(test_sso(app, &caller).await?, AnswerView::Fields(TESTED)),
        SsoCommand::Confirm { domain, .. } => Printout::one(confirm_domain(app, &caller, domain).await?, SIGN_ON),
        SsoCommand::Release { domain, .. } => Printout::one(release_domain(app, &caller, domain).await?, SIGN_ON),
        SsoCommand::Delete(_) => Printout::one(remove_sso(app, &caller).await?, AnswerView::Fields(DELETED)),
    }
}

async fn create(app: &App, text: &str, plan: Option<&str>) -> Result<Printout> {
    check_plan(app, plan)?;
    let (name, plan) = (text.to_owned(), plan.map(str::to_owned));
    let asked = CreateCustomer { name, plan, seats: None, rate_limit_per_minute: None, first_key: false };
    let created = create_organization(app, &Once::unkeyed(), asked).await?;
    Printout::one(join(created.organization, OneField("link", created.link)), CREATED)
}

/// View of a created organization, with its owner's link.
pub(super) const CREATED: AnswerView = AnswerView::Text(|org| {
    let link = link_text(&org["link"], "of the owner", &field(org, "/id"));
    format!("{}\n{link}", table::rows(ORGANIZATIONS, [org]))
});

async fn restrict(app: &App, hold: &RestrictionArgs, status: &str) -> Result<Printout> {
    let org = find_org(app, &hold.one.org).await?;
    let asked = HoldCustomer { status: status.to_owned(), reason: hold.reason.clone() };
    Printout::one(hold_organization(app, org.id, asked).await?, AnswerView::Rows(ORGANIZATIONS))
}

/// Reads the change of an organization.
pub(super) fn read_change(args: &OrgChangeArgs) -> Result<CustomerPatch> {
    let entitlements = read_entitlements(args)?;
    let numbers = [&args.seats, &args.rate, &args.low_balance];
    if args.name.is_none() && args.plan.is_none() && numbers.iter().all(|own| own.is_none()) && entitlements.is_empty()
    {
        bail!("nothing to change; see `probity orgs change --help`");
    }
    Ok(CustomerPatch {
        name: args.name.clone(),
        plan: args.plan.clone(),
        seats: args.seats.unwrap_or_default(),
        rate_limit_per_minute: args.rate.unwrap_or_default(),
        low_balance: args.low_balance.unwrap_or_default(),
        entitlements,
    })
}

fn read_entitlements(args: &OrgChangeArgs) -> Result<BTreeMap<String, Option<bool>>> {
    let mut entitlements = BTreeMap::new();
    for (names, allowed) in [(&args.entitle, Some(true)), (&args.deny, Some(false)), (&args.as_plan, None)] {
        for name in names {
            if entitlements.insert(name.clone(), allowed).is_some_and(|before| before != allowed) {
                bail!("{name} may be in only one of --entitle, --deny and --as-plan");
            }
        }
    }
    Ok(entitlements)
}

/// Refuses an unconfigured plan in the command's own words, because the API's message names one of its routes.
fn check_plan(app: &App, plan: Option<&str>) -> Result<()> {
    match plan.filter(|plan| app.config.plans.get(plan).is_none()) {
        Some(plan) => bail!("there is no plan {plan:?}; `probity plans` lists them"),
        None => Ok(()),
    }
}
