//! Requests about the members of an organization.

use anyhow::{Context as _, Result, anyhow};
use probity_core::role::Role;
use probity_server::admin::{Admin, Invitee, TeamError};
use probity_server::store::{Org, User, UserStatus};
use secrecy::ExposeSecret as _;

use crate::admin::{self, Answer, Fate};
use crate::config::serve::ServeSettings;

pub(super) async fn list(admin: &Admin, org: &Org) -> Result<Answer> {
    let members = admin.list_users(org).await.map_err(super::failed)?;
    Ok(Answer::Users(members.into_iter().map(|user| view(user, org.id.to_string())).collect()))
}

pub(super) async fn invite(
    admin: &Admin,
    serve: &ServeSettings,
    org: &Org,
    email: &str,
    name: Option<&str>,
    role: &str,
) -> Result<Answer> {
    let role = Role::from_name(role).with_context(|| format!("no role is called {role:?}"))?;
    let who = Invitee { email, name, role, life_ms: serve.invitation_ms, by_mail: serve.mail.is_some() };
    let (user, link) = admin.invite_user(org, who).await.map_err(refused)?;
    Ok(Answer::Link(admin::Link {
        user: user.id.to_string(),
        organization: org.id.to_string(),
        url: serve.link(link.token.expose_secret()),
        expires_at: link.expires_at,
    }))
}

pub(super) async fn change(admin: &Admin, who: &str, org: Option<&str>, fate: Fate) -> Result<Answer> {
    let (user, org) = super::person(admin, who, org).await?;
    let after = match fate {
        Fate::Pause => admin.set_user_status(&user, UserStatus::Paused).await,
        Fate::Resume => admin.set_user_status(&user, UserStatus::Active).await,
        Fate::Remove => admin.remove_user(&user).await.map(|()| user),
    };
    Ok(Answer::Users(vec![view(after.map_err(refused)?, org)]))
}

fn refused(error: TeamError) -> anyhow::Error {
    match error {
        TeamError::Store(error) => super::failed(error),
        other => anyhow!("{other}"),
    }
}

fn view(user: User, organization: String) -> admin::User {
    admin::User {
        id: user.id.to_string(),
        organization,
        email: user.email.unwrap_or_default(),
        name: user.name.unwrap_or_default(),
        role: user.role.as_str().to_owned(),
        is_primary: user.is_primary,
        status: user.status.as_str().to_owned(),
        created_at: user.created_at,
    }
}
