//! Users of the dashboard.

use anyhow::{Result, bail};
use clap::ValueEnum;
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::{OnePerson, UsersCommand};
use crate::output::plain;

/// Change to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Prevents sign-in until the user is resumed.
    Pause,
    Resume,
    Remove,
    /// New role, as in the API.
    Role(String),
}

/// What is known of who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Identity {
    /// Identity verified
    Verified,
    /// Member must provide more
    RequiresInput,
    /// Not checked
    Unknown,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct User {
    pub id: String,
    pub organization: String,
    /// Email address; empty if none is set yet.
    pub email: String,
    /// Name; empty if unset.
    pub name: String,
    pub role: String,
    /// The user is the owner.
    pub is_primary: bool,
    /// Status as in the API.
    pub status: String,
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
}

/// A user with the identity check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Identified {
    #[serde(flatten)]
    pub user: User,
    /// Result as in the API; `None` if unchecked.
    pub identity_verified: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Session {
    pub id: String,
    pub user: String,
    /// Browser and system.
    pub client: String,
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
    /// Last use, to the minute.
    #[serde(serialize_with = "super::time")]
    pub last_seen_at: Millis,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct SignedOut {
    pub user: String,
    /// Number of sessions ended.
    pub ended: u64,
}

/// A one-time link.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    pub user: String,
    pub organization: String,
    /// Link to open in a browser.
    pub url: String,
    #[serde(serialize_with = "super::time")]
    pub expires_at: Millis,
}

pub(super) fn request(command: &UsersCommand) -> Request {
    let change = |one: &OnePerson, fate| Request::ChangeUser { who: one.who.clone(), org: one.org.clone(), fate };
    match command {
        UsersCommand::List(some) => Request::ListUsers { org: some.org.clone() },
        UsersCommand::Invite { email, name, role, org } => {
            Request::InviteUser { org: org.org.clone(), email: email.clone(), name: name.clone(), role: role.clone() }
        }
        UsersCommand::Role { one, role } => change(one, Fate::Role(role.clone())),
        UsersCommand::Sessions(one) => Request::Sessions { who: one.who.clone(), org: one.org.clone() },
        UsersCommand::SignOut { one, session } => {
            Request::SignOut { who: one.who.clone(), org: one.org.clone(), session: session.clone() }
        }
        UsersCommand::Pause(one) => change(one, Fate::Pause),
        UsersCommand::Resume(one) => change(one, Fate::Resume),
        UsersCommand::Remove(one) => change(one, Fate::Remove),
        UsersCommand::Identity { one, state } => {
            Request::Identify { who: one.who.clone(), org: one.org.clone(), identity: *state }
        }
        UsersCommand::ResetLink { who, org, without_second_factor } => {
            Request::ResetLink { who: who.clone(), org: org.clone(), without_second_factor: *without_second_factor }
        }
    }
}

pub(super) fn table(users: &[User]) -> String {
    let row = |user: &User| {
        let role = if user.is_primary { "primary" } else { &user.role };
        let cells = [&user.id, &user.status, role, &moment_text(user.created_at), &user.email, &user.name];
        cells.map(str::to_owned).to_vec()
    };
    table::lines(&["USER", "STATUS", "ROLE", "ADDED", "EMAIL", "NAME"], users.iter().map(row))
}

/// Formats the sessions of a user.
pub(super) fn sessions(all: &[Session]) -> String {
    let row = |one: &Session| {
        vec![one.id.clone(), moment_text(one.created_at), moment_text(one.last_seen_at), one.client.clone()]
    };
    table::lines(&["SESSION", "SIGNED IN", "LAST USED", "CLIENT"], all.iter().map(row))
}

pub(super) fn signed_out(out: &SignedOut) -> String {
    format!("{} sessions of {} ended\n", out.ended, out.user)
}

pub(super) fn identified(one: &Identified) -> String {
    let known = one.identity_verified.as_deref().unwrap_or("unknown");
    format!("the identity of {} ({}) is {known}\n", one.user.id, plain(&one.user.email))
}

/// Formats the link and instructions.
pub(super) fn shown(link: &Link) -> String {
    format!(
        "{}\n\nThis link sets the password of {} in {}. It works once, until {}. Save it; it is shown once.\n",
        link.url,
        link.user,
        link.organization,
        moment_text(link.expires_at),
    )
}

/// Returns the one matching user. `found` pairs organization IDs with users.
pub(crate) fn one_person<T>(mut found: Vec<(String, T)>, who: &str, org: Option<&str>) -> Result<T> {
    if let Some(org) = org {
        found.retain(|(id, _)| id == org);
    }
    if found.len() > 1 {
        let orgs: Vec<_> = found.iter().map(|(org, _)| org.as_str()).collect();
        bail!("{who} belongs to several organizations; select one with --org: {}", orgs.join(", "));
    }
    match found.pop() {
        Some((_, one)) => Ok(one),
        None => {
            bail!("there is no member {who}; for the owner of a new installation, pass the organization's ID")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_is_meant() {
        let found = |orgs: &[&str]| orgs.iter().map(|org| ((*org).to_owned(), (*org).to_owned())).collect();
        assert_eq!(one_person(found(&["org_a"]), "ann", None).unwrap(), "org_a");
        assert_eq!(one_person(found(&["org_a", "org_b"]), "ann", Some("org_b")).unwrap(), "org_b");
        let several = one_person::<String>(found(&["org_a", "org_b"]), "ann", None).unwrap_err().to_string();
        assert!(several.contains("org_a, org_b"), "{several}");
        assert!(one_person::<String>(found(&[]), "ann", None).is_err());
        assert!(one_person::<String>(found(&["org_a"]), "ann", Some("org_b")).is_err());
    }

    #[test]
    fn a_link_is_told_with_its_end() {
        let link = Link {
            user: "usr_1".into(),
            organization: "org_1".into(),
            url: "https://verify.example.com/#/link/abc".into(),
            expires_at: Millis(86_400_000),
        };
        let text = shown(&link);
        assert!(text.starts_with("https://verify.example.com/#/link/abc\n"), "{text}");
        assert!(text.contains("usr_1") && text.contains("1970-01-02T00:00:00Z"), "{text}");
    }
}
