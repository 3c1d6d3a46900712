//! People who sign in.

use anyhow::{Result, bail};
use clap::ValueEnum;
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::{OnePerson, UsersCommand};
use crate::output::plain;

/// What becomes of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They cannot sign in until they are resumed.
    Pause,
    /// They can again.
    Resume,
    /// They are no member any more.
    Remove,
    /// They may do something else, in the API's words.
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

/// A member as they are shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct User {
    /// Their id.
    pub id: String,
    /// Whose they are.
    pub organization: String,
    /// Their address; empty where they have given none yet.
    pub email: String,
    /// What they are called; empty where nobody said.
    pub name: String,
    /// What they may do.
    pub role: String,
    /// Whether the organization is theirs.
    pub is_primary: bool,
    /// Where they stand, in the API's words.
    pub status: String,
    /// When they were added.
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
}

/// A member, and what is known of who they are.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Identified {
    /// The member.
    #[serde(flatten)]
    pub user: User,
    /// What is known, in the API's words; `None` where nobody has looked.
    pub identity_verified: Option<String>,
}

/// A session as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Session {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// Which browser on which system.
    pub client: String,
    /// When they signed in.
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
    /// When it was last used, to the minute.
    #[serde(serialize_with = "super::time")]
    pub last_seen_at: Millis,
}

/// Somebody who was signed out.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SignedOut {
    /// Their id.
    pub user: String,
    /// How many sessions ended.
    pub ended: u64,
}

/// A one-time link as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    /// The id of whose it is.
    pub user: String,
    /// The id of their organization.
    pub organization: String,
    /// What is opened in a browser.
    pub url: String,
    /// From when on it opens nothing.
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

/// Where somebody is signed in.
pub(super) fn sessions(all: &[Session]) -> String {
    let row = |one: &Session| {
        vec![one.id.clone(), moment_text(one.created_at), moment_text(one.last_seen_at), one.client.clone()]
    };
    table::lines(&["SESSION", "SIGNED IN", "LAST USED", "CLIENT"], all.iter().map(row))
}

/// One line about somebody who was signed out.
pub(super) fn signed_out(out: &SignedOut) -> String {
    format!("{} sessions of {} ended\n", out.ended, out.user)
}

/// One line about a member.
pub(super) fn identified(one: &Identified) -> String {
    let known = one.identity_verified.as_deref().unwrap_or("unknown");
    format!("the identity of {} ({}) is {known}\n", one.user.id, plain(&one.user.email))
}

/// The link, and what is to be known about it.
pub(super) fn shown(link: &Link) -> String {
    format!(
        "{}\n\nThis link sets the password of {} in {}. It works once, until {}. Save it; it is shown once.\n",
        link.url,
        link.user,
        link.organization,
        moment_text(link.expires_at),
    )
}

/// The one person who is meant, of those that were found with the ids of their organizations.
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
