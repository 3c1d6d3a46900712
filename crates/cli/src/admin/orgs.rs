//! Organizations: created, listed, shown, changed, restricted.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use probity_account::name::name;
use probity_contract::published::operator::organizations::{
    CreateCustomer, CreatedCustomer, Customer, CustomerPatch, HoldCustomer, OneTimeLink,
};
use probity_service::accounts::people::sso::domains::{confirm_domain, release_domain};
use probity_service::accounts::people::sso::setup::{get_sso, remove_sso, test_sso};
use probity_service::callers::once::Once;
use probity_service::operator::holds::{hold_organization, lift_hold};
use probity_service::operator::organizations::{
    change_organization, create_organization, list_all_organizations, show_organization,
};
use serde::Serialize;
use serde_json::Value;

use super::LocalOperator;
use super::operator::staff;
use super::users::link_text;
use crate::args::{OrgChangeArgs, OrgsCommand, RestrictionArgs, SsoCommand};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, made, moment, time, time_or};

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
    let threshold = Some(field(org, "/low_balance/effective")).filter(|threshold| !threshold.is_empty());
    format!("{} (below {})", field(org, "/is_low"), threshold.as_deref().unwrap_or("unlimited"))
}

/// A created organization with its owner's link.
#[derive(Serialize)]
struct CustomerWithLink {
    #[serde(flatten)]
    customer: Customer,
    link: OneTimeLink,
}

pub(super) async fn run(operator: &LocalOperator<'_>, command: &OrgsCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        OrgsCommand::Create { name, plan } => create(operator, name, plan.as_deref()).await,
        OrgsCommand::List => Printout::of(list_all_organizations(app).await?, AnswerView::Rows(ORGANIZATIONS)),
        OrgsCommand::Show(one) => {
            let org = operator.find_org(&one.org).await?;
            Printout::one(show_organization(app, org.id).await?, AnswerView::Fields(ORGANIZATION))
        }
        OrgsCommand::Change(args) => {
            let patch = read_change(args)?;
            check_plan(operator, args.plan.as_deref())?;
            let org = operator.find_org(&args.one.org).await?;
            Printout::one(change_organization(app, org.id, patch).await?, AnswerView::Fields(ORGANIZATION))
        }
        OrgsCommand::Suspend(hold) => restrict(operator, hold, "suspended").await,
        OrgsCommand::Pause(hold) => restrict(operator, hold, "paused").await,
        OrgsCommand::Ban(hold) => restrict(operator, hold, "banned").await,
        OrgsCommand::Review(hold) => restrict(operator, hold, "under_review").await,
        OrgsCommand::Lift(one) => {
            let org = operator.find_org(&one.org).await?;
            Printout::one(lift_hold(app, org.id).await?, AnswerView::Rows(ORGANIZATIONS))
        }
        OrgsCommand::Sso(command) => sign_on(operator, command).await,
    }
}

async fn sign_on(operator: &LocalOperator<'_>, command: &SsoCommand) -> Result<Printout> {
    let (SsoCommand::Show(one)
    | SsoCommand::Test(one)
    | SsoCommand::Confirm { one, .. }
    | SsoCommand::Release { one, .. }
    | SsoCommand::Delete(one)) = command;
    let (app, caller) = (operator.app, staff(operator.find_org(&one.org).await?, false));
    match command {
        SsoCommand::Show(_) => Printout::one(get_sso(app, &caller).await?, SIGN_ON),
        SsoCommand::Test(_) => Printout::one(test_sso(app, &caller).await?, AnswerView::Fields(TESTED)),
        SsoCommand::Confirm { domain, .. } => Printout::one(confirm_domain(app, &caller, domain).await?, SIGN_ON),
        SsoCommand::Release { domain, .. } => Printout::one(release_domain(app, &caller, domain).await?, SIGN_ON),
        SsoCommand::Delete(_) => Printout::one(remove_sso(app, &caller).await?, AnswerView::Fields(DELETED)),
    }
}

async fn create(operator: &LocalOperator<'_>, text: &str, plan: Option<&str>) -> Result<Printout> {
    check_plan(operator, plan)?;
    name(text).map_err(|fault| anyhow!("the name {fault}"))?;
    let (name, plan) = (text.to_owned(), plan.map(str::to_owned));
    let asked = CreateCustomer { name, plan, seats: None, rate_limit_per_minute: None, first_key: false };
    let created = create_organization(operator.app, &Once::unkeyed(), asked).await?;
    let CreatedCustomer { organization, link, .. } = created;
    Printout::one(CustomerWithLink { customer: organization, link }, CREATED)
}

/// A created organization for people, with its owner's link.
pub(super) const CREATED: AnswerView = AnswerView::Text(|org| {
    let link = link_text(&org["link"], "of the owner", &field(org, "/id"));
    format!("{}\n{link}", table::rows(ORGANIZATIONS, [org]))
});

async fn restrict(operator: &LocalOperator<'_>, hold: &RestrictionArgs, status: &str) -> Result<Printout> {
    let org = operator.find_org(&hold.one.org).await?;
    let asked = HoldCustomer { status: status.to_owned(), reason: hold.reason.clone() };
    Printout::one(hold_organization(operator.app, org.id, asked).await?, AnswerView::Rows(ORGANIZATIONS))
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

/// Refuses a plan that is not configured in the command's own words: those of the API name one of its routes.
fn check_plan(operator: &LocalOperator<'_>, plan: Option<&str>) -> Result<()> {
    match plan.filter(|plan| operator.app.config.plans.get(plan).is_none()) {
        Some(plan) => bail!("there is no plan {plan:?}; `probity plans` lists them"),
        None => Ok(()),
    }
}
