//! Organizations.

use anyhow::{Result, bail};
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::{Hold, OrgChangeArgs, OrgsCommand};

/// A number of an organization's own, in the place of what its plan says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Own {
    /// It stays as it is.
    #[default]
    Unsaid,
    /// The plan's counts.
    AsPlan,
    /// This one counts.
    Given(i64),
}

impl Own {
    /// Reads `plan` or a number above zero.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = || text.parse().ok().filter(|number| (1..=1_000_000_000).contains(number));
        match text {
            "plan" => Ok(Self::AsPlan),
            _ => number().map(Self::Given).ok_or_else(|| "must be `plan` or a number from 1 to 1000000000".into()),
        }
    }
}

/// What is to be changed of an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// For people.
    pub name: Option<String>,
    /// The plan's name.
    pub plan: Option<String>,
    /// How many people may belong to it.
    pub seats: Own,
    /// Requests a minute for all its keys.
    pub rate_per_minute: Own,
    /// Below how many credits its balance is low.
    pub low_balance: Own,
    /// Entitlements that it has or has not whatever its plan says; none where the plan says.
    pub entitlements: Vec<(String, Option<bool>)>,
}

/// Whether an organization is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrgStatus {
    /// It is.
    Active,
    /// Not, by decision of the operator.
    Suspended,
    /// Not, at its own wish.
    Paused,
    /// Not any more, and its jobs end.
    Banned,
    /// It is, and somebody looks at it.
    UnderReview,
}

/// An organization as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Org {
    /// Its id.
    pub id: String,
    /// For people; empty where it has none.
    pub name: String,
    /// The plan's name.
    pub plan: String,
    /// Its status, in the API's words.
    pub status: String,
    /// When it was made.
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

/// Organizations that a message names at most.
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
