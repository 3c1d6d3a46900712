//! Organizations.

use anyhow::{Result, bail};
use clap::ValueEnum;
use probity_core::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::OrgsCommand;

/// Whether an organization's credits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plan {
    /// They do not.
    Unlimited,
    /// They do.
    Metered,
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
    let status = |org: &str, status| Ok(Request::SetStatus { org: org.to_owned(), status });
    match command {
        OrgsCommand::Create { name, .. } if name.is_empty() => bail!("an organization needs a name"),
        OrgsCommand::Create { name, plan } => Ok(Request::CreateOrg { name: name.clone(), plan: *plan }),
        OrgsCommand::List => Ok(Request::ListOrgs),
        OrgsCommand::Suspend(one) => status(&one.org, OrgStatus::Suspended),
        OrgsCommand::Pause(one) => status(&one.org, OrgStatus::Paused),
        OrgsCommand::Ban(one) => status(&one.org, OrgStatus::Banned),
        OrgsCommand::Lift(one) => status(&one.org, OrgStatus::Active),
    }
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
        [] => bail!("there is no organization yet: `probity orgs create NAME` makes one"),
        [one] => Ok(one),
        several => {
            let named: Vec<&str> = several.iter().take(NAMED_MAX).map(|org| org.id.as_str()).collect();
            let more = if several.len() > NAMED_MAX { ", ..." } else { "" };
            bail!("there are {} organizations; say which one with --org: {}{more}", several.len(), named.join(", "))
        }
    }
}
