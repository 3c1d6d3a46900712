//! Users of the dashboard, their sessions and one-time links.

use anyhow::{Result, anyhow, bail};
use probity_account::id::{OrgId, UserId};
use probity_contract::published::accounts::users::{Invite, MemberPatch};
use probity_contract::published::operator::organizations::OneTimeLink;
use probity_contract::published::operator::people::CreateResetLink;
use probity_service::accounts::people::member_sessions::{list_member_sessions, sign_out_member};
use probity_service::accounts::users::{get_member, invite_member, remove_member, update_member};
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::operator::people::{create_reset_link, find_people, list_people, set_identity};
use probity_service::store::IdentityCheck;
use serde::Serialize;
use serde_json::{Value, json};

use super::LocalOperator;
use super::operator::{DeletedObject, OrMissing as _, body, print_one, print_rows, staff, with_org};
use crate::args::{MemberArg, OrgFlag, UsersCommand};
use crate::output::plain;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, field, made, moment, time};

const MEMBERS: &[AnswerColumn] = &[
    at("USER", "/id"),
    at("STATUS", "/status"),
    made("ROLE", |user| if user["is_primary"] == true { "primary".to_owned() } else { field(user, "/role") }),
    time("ADDED", "/created_at"),
    at("EMAIL", "/email"),
    at("NAME", "/name"),
];

const SESSIONS: &[AnswerColumn] = &[
    at("SESSION", "/id"),
    time("SIGNED IN", "/created_at"),
    time("LAST USED", "/last_seen_at"),
    at("CLIENT", "/client"),
];

/// An answer about a member.
#[derive(Serialize)]
struct AnswerOnMember<T> {
    user: UserId,
    #[serde(flatten)]
    answer: T,
}

pub(super) async fn run(operator: &LocalOperator<'_>, command: &UsersCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        UsersCommand::List(some) => {
            let caller = operator.act_for(some).await?;
            print_rows(&caller, list_people(app, caller.org_id()).await?.data, MEMBERS)
        }
        UsersCommand::Invite { email, name, role, org } => {
            let asked: Invite = body(json!({ "email": email, "name": name, "role": role }))?;
            invite(operator, org, asked).await
        }
        UsersCommand::Role { one, role } => update(operator, one, json!({ "role": role })).await,
        UsersCommand::Pause(one) => update(operator, one, json!({ "status": "paused" })).await,
        UsersCommand::Resume(one) => update(operator, one, json!({ "status": "active" })).await,
        UsersCommand::Remove(one) => remove(operator, one).await,
        UsersCommand::Sessions(one) => {
            let (caller, user) = find_member(operator, one).await?;
            let sessions = list_member_sessions(app, &caller, user).await?;
            Printout::of(
                sessions.data.into_iter().map(|answer| AnswerOnMember { user, answer }),
                AnswerView::Rows(SESSIONS),
            )
        }
        UsersCommand::SignOut { one, session } => sign_out(operator, one, session.as_deref()).await,
        UsersCommand::Identity { one, state } => {
            let (caller, user) = find_member(operator, one).await?;
            let identity = identity_of(state);
            print_one(&caller, set_identity(app, caller.org_id(), user, identity).await?, IDENTIFIED)
        }
        UsersCommand::ResetLink { who, org, without_second_factor } => {
            let one = MemberArg { who: who.clone(), org: org.clone() };
            let (caller, user) = find_member(operator, &one).await?;
            let asked = CreateResetLink { without_second_factor: *without_second_factor };
            let link = create_reset_link(app, caller.org_id(), user, asked).await?;
            Printout::one(AnswerOnMember { user, answer: with_org(&caller, link) }, LINK)
        }
    }
}

/// A member's link for people.
const LINK: AnswerView =
    AnswerView::Text(|link| link_text(link, &format!("of {}", field(link, "/user")), &field(link, "/organization")));

/// A removed member for people.
const REMOVED: AnswerView =
    AnswerView::Text(|user| format!("{}\n{} is removed\n", table::rows(MEMBERS, [user]), field(user, "/id")));

/// The result of an identity check for people.
const IDENTIFIED: AnswerView = AnswerView::Text(|user| {
    let known = Some(field(user, "/identity_verified")).filter(|known| !known.is_empty());
    let (id, email) = (field(user, "/id"), plain(&field(user, "/email")));
    format!("the identity of {id} ({email}) is {}\n", known.as_deref().unwrap_or("unknown"))
});

/// Formats a one-time link and instructions.
pub(super) fn link_text(link: &Value, whose: &str, org: &str) -> String {
    let (url, end) = (field(link, "/url"), moment(link, "/expires_at"));
    format!(
        "{url}\n\nThis link sets the password {whose} in {org}. It works once, until {end}. Save it; it is shown once.\n"
    )
}

async fn invite(operator: &LocalOperator<'_>, org: &OrgFlag, asked: Invite) -> Result<Printout> {
    let app = operator.app;
    let caller = operator.act_for(org).await?;
    // Read before the act, so that the link works at least until then.
    let expires_at = (app.now() + app.config.link_life_ms).into();
    let invited = invite_member(app, &caller, &Once::unkeyed(), asked).await?;
    let link = OneTimeLink { url: invited.invitation_url, expires_at };
    Printout::one(AnswerOnMember { user: invited.member.id, answer: with_org(&caller, link) }, LINK)
}

async fn update(operator: &LocalOperator<'_>, one: &MemberArg, patch: Value) -> Result<Printout> {
    let patch: MemberPatch = body(patch)?;
    let (caller, user) = find_member(operator, one).await?;
    print_one(&caller, update_member(operator.app, &caller, user, patch).await?, AnswerView::Rows(MEMBERS))
}

async fn remove(operator: &LocalOperator<'_>, one: &MemberArg) -> Result<Printout> {
    let (caller, user) = find_member(operator, one).await?;
    // Read before the act, after which nobody has this ID.
    let answer = get_member(operator.app, &caller, user).await?;
    let deleted = remove_member(operator.app, &caller, user).await?.deleted;
    print_one(&caller, DeletedObject { answer, deleted }, REMOVED)
}

async fn sign_out(operator: &LocalOperator<'_>, one: &MemberArg, session: Option<&str>) -> Result<Printout> {
    let (caller, user) = find_member(operator, one).await?;
    let missing = || anyhow!("there is no such session; to list all: `probity users sessions {}`", one.who);
    let session = session.map(str::parse).transpose().map_err(|_| missing())?;
    let answer = sign_out_member(operator.app, &caller, user, session).await.or_missing(missing)?;
    let view =
        AnswerView::Text(|out| format!("{} sessions of {} ended\n", field(out, "/deleted"), field(out, "/user")));
    Printout::one(AnswerOnMember { user, answer }, view)
}

fn identity_of(state: &str) -> Option<IdentityCheck> {
    match state {
        "verified" => Some(IdentityCheck::Verified),
        "requires-input" => Some(IdentityCheck::RequiresInput),
        _ => None,
    }
}

/// Finds the one member that a command names, and the operator as the caller in the member's organization.
async fn find_member(operator: &LocalOperator<'_>, one: &MemberArg) -> Result<(Caller, UserId)> {
    let unknown = || anyhow!("there is no member {}", one.who);
    let found = find_people(operator.app, &one.who).await.or_missing(unknown)?;
    let found = found.into_iter().map(|(org, user)| (org, user.id)).collect();
    let (org, user) = choose_one(found, &one.who, one.org.as_deref())?;
    Ok((staff(operator.find_org(&org.to_string()).await?, false), user))
}

/// Returns the one match, with its organization.
pub(super) fn choose_one(mut found: Vec<(OrgId, UserId)>, who: &str, org: Option<&str>) -> Result<(OrgId, UserId)> {
    if let Some(org) = org {
        found.retain(|(id, _)| id.to_string() == org);
    }
    if found.len() > 1 {
        let orgs: Vec<_> = found.iter().map(|(org, _)| org.to_string()).collect();
        bail!("{who} belongs to several organizations; select one with --org: {}", orgs.join(", "));
    }
    let missing =
        || anyhow!("there is no member {who}; for the owner of a new installation, pass the organization's ID");
    found.pop().ok_or_else(missing)
}
