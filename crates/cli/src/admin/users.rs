//! Users of the dashboard, their sessions and one-time links.

use anyhow::{Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_account::id::{OrgId, UserId};
use probity_account::role::MemberRole;
use probity_contract::published::accounts::users::{Invite, MemberPatch};
use probity_contract::published::operator::organizations::OneTimeLink;
use probity_contract::published::operator::people::CreateResetLink;
use probity_service::accounts::people::member_sessions::{list_member_sessions, sign_out_member};
use probity_service::accounts::users::{get_member, invite_member, remove_member, update_member};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::operator::people::{create_reset_link, find_people, list_people, set_identity};
use probity_service::store::IdentityCheck;
use serde_json::{Value, json};

use super::operator::{OrMissing as _, act_for, body, find_org, print_one, print_rows, staff, with_org};
use super::{OrgFlag, meaning, name};
use crate::output::plain;
use crate::output::printout::{AnswerView, JoinedObjects, OneField, Printout, join};
use crate::output::table::{AnswerColumn, at, field, field_or, made, moment, time};

/// Shown below the help of `users`.
pub(super) const USERS_EXAMPLES: &str = "\
Examples:
    probity users list
    probity users invite ann@example.com --name 'Ann Lee' --role administrator
    probity users role ann@example.com administrator
    probity users sessions ann@example.com
    probity users sign-out ann@example.com
    probity users pause ann@example.com
    probity users remove usr_01h455vb4pex5vsknk084sn02q
    probity users identity ann@example.com verified
    probity users reset-link ann@example.com
    probity users reset-link org_01h455vb4pex5vsknk084sn02q     the owner, who may have no address yet
    probity users reset-link ann@example.com --without-second-factor";

/// Results of an identity check.
const IDENTITIES: [(&str, &str); 3] =
    [("verified", "Identity verified"), ("requires-input", "Member must provide more"), ("unknown", "Not checked")];

#[derive(Debug, Args)]
pub(crate) struct MemberArg {
    /// Email address or member ID
    #[arg(value_name = "WHO")]
    pub who: String,
    /// Organization ID, if the address belongs to several organizations
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// List the members of an organization, newest first
    List(OrgFlag),
    /// Invite a member, or a pending one again, and print a one-time link
    Invite {
        /// Email address
        email: String,
        /// Name of the member
        #[arg(long, value_parser = name)]
        name: Option<String>,
        /// Role of the member
        #[arg(long, default_value = "contributor", value_parser = PossibleValuesParser::new(MemberRole::ALL.map(MemberRole::as_str)))]
        role: String,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Change a member's role
    Role {
        #[command(flatten)]
        one: MemberArg,
        /// New role
        #[arg(value_parser = PossibleValuesParser::new(MemberRole::ALL.map(MemberRole::as_str)))]
        role: String,
    },
    /// List a member's sessions, most recently used first
    Sessions(MemberArg),
    /// End all sessions of a member, or one
    SignOut {
        #[command(flatten)]
        one: MemberArg,
        /// ID of the only session to end
        #[arg(long, value_name = "SESSION_ID")]
        session: Option<String>,
    },
    /// Pause a member: end all sessions, and refuse sign-in until the member is resumed
    Pause(MemberArg),
    /// Resume a paused member
    Resume(MemberArg),
    /// Remove a member or withdraw an invitation; the member's keys keep working until `keys revoke`
    Remove(MemberArg),
    /// Set the identity check of a member, which the account shows
    Identity {
        #[command(flatten)]
        one: MemberArg,
        /// Result of the identity check
        #[arg(value_parser = PossibleValuesParser::new(IDENTITIES.map(|(name, means)| meaning(name, means))))]
        state: String,
    },
    /// Print a one-time link, valid for a day, that sets a member's new password
    ResetLink {
        /// Email address, member ID, or organization ID for its owner
        #[arg(value_name = "WHO")]
        who: String,
        /// Organization ID, if the address belongs to several organizations
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
        /// Also remove two-factor authentication, if the member has lost access to it
        #[arg(long)]
        without_second_factor: bool,
    },
}

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

pub(super) async fn run(app: &App, command: &UsersCommand) -> Result<Printout> {
    match command {
        UsersCommand::List(some) => {
            let caller = act_for(app, some).await?;
            print_rows(&caller, list_people(app, caller.org_id()).await?.data, MEMBERS)
        }
        UsersCommand::Invite { email, name, role, org } => {
            let asked: Invite = body(json!({ "email": email, "name": name, "role": role }))?;
            invite(app, org, asked).await
        }
        UsersCommand::Role { one, role } => update(app, one, json!({ "role": role })).await,
        UsersCommand::Pause(one) => update(app, one, json!({ "status": "paused" })).await,
        UsersCommand::Resume(one) => update(app, one, json!({ "status": "active" })).await,
        UsersCommand::Remove(one) => remove(app, one).await,
        UsersCommand::Sessions(one) => {
            let (caller, user) = find_member(app, one).await?;
            let sessions = list_member_sessions(app, &caller, user).await?;
            let rows = sessions.data.into_iter().map(|session| of_user(user, session));
            Printout::of(rows, AnswerView::Rows(SESSIONS))
        }
        UsersCommand::SignOut { one, session } => sign_out(app, one, session.as_deref()).await,
        UsersCommand::Identity { one, state } => {
            let (caller, user) = find_member(app, one).await?;
            let identity = identity_of(state);
            print_one(&caller, set_identity(app, caller.org_id(), user, identity).await?, IDENTIFIED)
        }
        UsersCommand::ResetLink { who, org, without_second_factor } => {
            reset_link(app, &MemberArg { who: who.clone(), org: org.clone() }, *without_second_factor).await
        }
    }
}

/// Makes a link for the owner of an organization.
pub(super) async fn owner_link(app: &App, some: &OrgFlag) -> Result<Printout> {
    let org = act_for(app, some).await?.org_id();
    reset_link(app, &MemberArg { who: org.to_string(), org: None }, false).await
}

async fn reset_link(app: &App, one: &MemberArg, without_second_factor: bool) -> Result<Printout> {
    let (caller, user) = find_member(app, one).await?;
    let link = create_reset_link(app, caller.org_id(), user, CreateResetLink { without_second_factor }).await?;
    Printout::one(of_user(user, with_org(&caller, link)), LINK)
}

/// Adds a member's ID to an answer.
fn of_user<T>(user: UserId, answer: T) -> JoinedObjects<OneField<UserId>, T> {
    join(OneField("user", user), answer)
}

/// View of a member's link.
const LINK: AnswerView =
    AnswerView::Text(|link| link_text(link, &format!("of {}", field(link, "/user")), &field(link, "/organization")));

/// View of an identity check's result.
const IDENTIFIED: AnswerView = AnswerView::Text(|user| {
    let known = field_or(user, "/identity_verified", "unknown");
    let (id, email) = (field(user, "/id"), plain(&field(user, "/email")));
    format!("the identity of {id} ({email}) is {known}\n")
});

/// Formats a one-time link and instructions.
pub(super) fn link_text(link: &Value, whose: &str, org: &str) -> String {
    let (url, end) = (field(link, "/url"), moment(link, "/expires_at"));
    format!(
        "{url}\n\nThis link sets the password {whose} in {org}. It works once, until {end}. Save it; it is shown once.\n"
    )
}

async fn invite(app: &App, org: &OrgFlag, asked: Invite) -> Result<Printout> {
    let caller = act_for(app, org).await?;
    // Read before the act, so that the link works at least until then.
    let expires_at = (app.now() + app.config.link_life_ms).into();
    let invited = invite_member(app, &caller, &Once::unkeyed(), asked).await?;
    let link = OneTimeLink { url: invited.invitation_url, expires_at };
    Printout::one(of_user(invited.member.id, with_org(&caller, link)), LINK)
}

async fn update(app: &App, one: &MemberArg, patch: Value) -> Result<Printout> {
    let patch: MemberPatch = body(patch)?;
    let (caller, user) = find_member(app, one).await?;
    print_one(&caller, update_member(app, &caller, user, patch).await?, AnswerView::Rows(MEMBERS))
}

async fn remove(app: &App, one: &MemberArg) -> Result<Printout> {
    let (caller, user) = find_member(app, one).await?;
    // Read before the act, after which nobody has this ID.
    let answer = get_member(app, &caller, user).await?;
    let deleted = remove_member(app, &caller, user).await?.deleted;
    print_one(&caller, join(answer, OneField("deleted", deleted)), AnswerView::Removed(MEMBERS))
}

async fn sign_out(app: &App, one: &MemberArg, session: Option<&str>) -> Result<Printout> {
    let (caller, user) = find_member(app, one).await?;
    let missing = || anyhow!("there is no such session; to list all: `probity users sessions {}`", one.who);
    let session = session.map(str::parse).transpose().map_err(|_| missing())?;
    let answer = sign_out_member(app, &caller, user, session).await.or_missing(missing)?;
    let view =
        AnswerView::Text(|out| format!("{} sessions of {} ended\n", field(out, "/deleted"), field(out, "/user")));
    Printout::one(of_user(user, answer), view)
}

fn identity_of(state: &str) -> Option<IdentityCheck> {
    match state {
        "verified" => Some(IdentityCheck::Verified),
        "requires-input" => Some(IdentityCheck::RequiresInput),
        _ => None,
    }
}

/// Finds the one member that a command names, and the operator as the caller in the member's organization.
async fn find_member(app: &App, one: &MemberArg) -> Result<(Caller, UserId)> {
    let unknown = || anyhow!("there is no member {}", one.who);
    let found = find_people(app, &one.who).await.or_missing(unknown)?;
    let found = found.into_iter().map(|(org, user)| (org, user.id)).collect();
    let (org, user) = choose_one(found, &one.who, one.org.as_deref())?;
    Ok((staff(find_org(app, &org.to_string()).await?, false), user))
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
