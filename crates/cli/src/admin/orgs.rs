use anyhow::{Result, bail};
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::{Hold, OrgChangeArgs, OrgsCommand};

/// An organization's own value, which overrides its plan's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Own {
    /// Leave unchanged.
    #[default]
    Unsaid,
    /// Use the plan's value.
    AsPlan,
    /// Override the plan's value.
    Given(i64),
}

impl Own {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = || text.parse().ok().filter(|number| (1..=1_000_000_000).contains(number));
        match text {
            "plan" => Ok(Self::AsPlan),
            _ => number().map(Self::Given).ok_or_else(|| "must be `plan` or a number from 1 to 1000000000".into()),
        }
    }
}

/// Changes to an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub name: Option<String>,
    pub plan: Option<String>,
    /// Maximum number of users.
    pub seats: Own,
    /// Rate limit over all keys, in requests per minute.
    pub rate_per_minute: Own,
    /// Threshold below which the balance is low.
    pub low_balance: Own,
    /// Entitlements that override the plan's; `None` restores the plan's.
    pub entitlements: Vec<(String, Option<bool>)>,
}

/// Restriction of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrgStatus {
    Active,
    /// Suspended by the operator.
    Suspended,
    /// Paused at the organization's request.
    Paused,
    /// Banned for good; its jobs end.
    Banned,
    /// Served, and under review by the operator.
    UnderReview,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Org {
    pub id: String,
    /// Label; may be empty.
    pub name: String,
    pub plan: String,
    /// Status as in the API.
    pub status: String,
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
}

pub(super) fn request(command: &OrgsCommand) -> Result<Request> {
    let hold =
        |hold: &Hold, status| Ok(Request::SetStatus { org: hold.one.org.clone(), status, reason: hold.reason.clone() });
    match command {
        OrgsCommand::Create { name, .. } if name.is_empty() => bail!("an organization needs a name"),
        OrgsCommand::Create { name, plan } => Ok(Request::CreateOrg { name: name.clone(), plan: plan.clone() }),
        OrgsCommand::List => Ok(Request::ListOrgs),
        OrgsCommand::Show(one) => Ok(Request::ShowOrg { org: one.org.clone() }),
        OrgsCommand::Change(args) => change(args),
        OrgsCommand::Suspend(args) => hold(args, OrgStatus::Suspended),
        OrgsCommand::Pause(args) => hold(args, OrgStatus::Paused),
        OrgsCommand::Ban(args) => hold(args, OrgStatus::Banned),
        OrgsCommand::Review(args) => hold(args, OrgStatus::UnderReview),
        OrgsCommand::Lift(one) => {
            Ok(Request::SetStatus { org: one.org.clone(), status: OrgStatus::Active, reason: None })
        }
    }
}

fn change(args: &OrgChangeArgs) -> Result<Request> {
    let said = |names: &[String], allowed| names.iter().map(move |name| (name.clone(), allowed)).collect::<Vec<_>>();
    let entitlements =
        [said(&args.as_plan, None), said(&args.entitle, Some(true)), said(&args.deny, Some(false))].concat();
    let change = Change {
        name: args.name.clone(),
        plan: args.plan.clone(),
        seats: args.seats.unwrap_or_default(),
        rate_per_minute: args.rate.unwrap_or_default(),
        low_balance: args.low_balance.unwrap_or_default(),
        entitlements,
    };
    if change == Change::default() {
        bail!("nothing to change; see `probity orgs change --help`");
    }
    Ok(Request::ChangeOrg { org: args.one.org.clone(), change })
}

pub(super) fn table(orgs: &[Org]) -> String {
    let row = |org: &Org| {
        vec![org.id.clone(), org.status.clone(), org.plan.clone(), moment_text(org.created_at), org.name.clone()]
    };
    table::lines(&["ORGANIZATION", "STATUS", "PLAN", "CREATED", "NAME"], orgs.iter().map(row))
}

/// Maximum number of organizations that a message lists.
const NAMED_MAX: usize = 5;

pub(super) fn only(orgs: &[Org]) -> Result<&Org> {
    match orgs {
        [] => bail!("there is no organization yet: create one with `probity orgs create NAME`"),
        [one] => Ok(one),
        several => {
            let named: Vec<&str> = several.iter().take(NAMED_MAX).map(|org| org.id.as_str()).collect();
            let more = if several.len() > NAMED_MAX { ", ..." } else { "" };
            bail!("there are {} organizations; select one with --org: {}{more}", several.len(), named.join(", "))
        }
    }
}
