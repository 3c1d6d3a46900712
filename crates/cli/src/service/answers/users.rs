use anyhow::{Context as _, Result, anyhow};
use probity_account::role::Role;
use probity_service::admin::{Admin, Invitee, TeamError};
use probity_service::store::{Identity, Org, Session, StoreError, User, UserStatus};
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
    let role = Role::from_name(role).with_context(|| format!("there is no role {role:?}"))?;
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
        Fate::Role(role) => {
            let role = Role::from_name(&role).with_context(|| format!("there is no role {role:?}"))?;
            admin.set_user_role(&user, role).await
        }
        Fate::Remove => admin.remove_user(&user).await.map(|()| user),
    };
    Ok(Answer::Users(vec![view(after.map_err(refused)?, org)]))
}

/// Returns the sessions of a user.
pub(super) async fn sessions(admin: &Admin, serve: &ServeSettings, who: &str, org: Option<&str>) -> Result<Answer> {
    let (user, _) = super::person(admin, who, org).await?;
    let all = admin.sessions(&user, serve.session).await.map_err(super::failed)?;
    let shown = |session: Session| admin::users::Session {
        id: session.id.to_string(),
        user: session.user.to_string(),
        client: session.client,
        created_at: session.created_at,
        last_seen_at: session.seen_at,
    };
    Ok(Answer::Sessions(all.into_iter().map(shown).collect()))
}

pub(super) async fn sign_out(admin: &Admin, who: &str, org: Option<&str>, session: Option<&str>) -> Result<Answer> {
    let (user, _) = super::person(admin, who, org).await?;
    let ended = admin.sign_out(&user, session).await.map_err(|error| match error {
        StoreError::NotFound => anyhow!("there is no such session; to list all: `probity users sessions {who}`"),
        other => super::failed(other),
    })?;
    Ok(Answer::SignedOut(admin::users::SignedOut { user: user.id.to_string(), ended }))
}

pub(super) async fn identify(admin: &Admin, who: &str, org: Option<&str>, known: admin::Identity) -> Result<Answer> {
    let (user, org) = super::person(admin, who, org).await?;
    let known = match known {
        admin::Identity::Verified => Some(Identity::Verified),
        admin::Identity::RequiresInput => Some(Identity::RequiresInput),
        admin::Identity::Unknown => None,
    };
    admin.set_identity(&user, known).await.map_err(super::failed)?;
    let known = admin.identity(&user).await.map_err(super::failed)?.map(|known| known.as_str().to_owned());
    Ok(Answer::Identified(Box::new(admin::Identified { user: view(user, org), identity_verified: known })))
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
