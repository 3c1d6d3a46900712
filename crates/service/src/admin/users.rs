//! The team of an organization from the command line, by the rules that the API has.

use probity_account::id::SessionId;
use probity_account::name::{NameFault, name};
use probity_account::role::Role;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::organization::Org;
use probity_store::sessions::{self, Lifetimes, Session};
use probity_store::users::profile::{self, Identity};
use probity_store::users::{self, User, UserStatus};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError};

use crate::admin::{Admin, PAGE, ResetLink, happened};
use crate::links::Making;
use crate::users as team;
use crate::users::{Act, Change, Power, Wish};

pub use crate::users::Refused;

/// Why a team stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// A rule is against it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// What was given as an address is none.
    #[error("this is not an email address")]
    Email,
    /// What was given as a name is none.
    #[error("the name {0}")]
    Name(#[from] NameFault),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who is to be invited.
#[derive(Clone, Copy, Debug)]
pub struct Invitee<'a> {
    /// Their address.
    pub email: &'a str,
    /// What they are called.
    pub name: Option<&'a str>,
    /// What they may do.
    pub role: Role,
    /// For how long their link works, in milliseconds.
    pub life_ms: i64,
    /// Whether the service that runs sends mail: then they are sent a link, too.
    pub by_mail: bool,
}

impl Admin {
    /// Everybody in an organization, the newest first.
    pub async fn list_users(&self, org: &Org) -> Result<Vec<User>, StoreError> {
        let mut conn = self.instance.store.read().await?;
        let mut all: Vec<User> = Vec::new();
        loop {
            let after = all.last().map(|user| (user.created_at, user.id));
            let page = users::page(&mut conn, org.no, after, PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Invites somebody, or once more who has not accepted yet.
    pub async fn invite_user(&self, org: &Org, who: Invitee<'_>) -> Result<(User, ResetLink), TeamError> {
        let act = self.staff(org.no);
        let email = Some(who.email.trim()).filter(|email| users::email_key(email).is_some()).ok_or(TeamError::Email)?;
        let name = who.name.map(name).transpose()?.map(str::to_owned);
        let wish = Wish { id: crate::random::id(act.now), email: email.to_owned(), name, role: who.role };
        let making = Making { secrets: &self.instance.secrets, life_ms: who.life_ms, by_mail: who.by_mail };
        let invited = self.instance.store.write(|tx| team::invite(tx, act, &wish, &self.plans, making).scope_boxed());
        let (user, token) = invited.await??;
        Ok((user, ResetLink { token: token.into(), expires_at: act.now + who.life_ms }))
    }

    /// Pauses a member, who is signed out, or lets them sign in again.
    pub async fn set_user_status(&self, user: &User, status: UserStatus) -> Result<User, TeamError> {
        let (act, change) = (self.staff(user.org), Change { status: Some(status), ..Change::default() });
        let changed = self.instance.store.write(|tx| team::change(tx, act, user.id, &change).scope_boxed());
        Ok(changed.await??)
    }

    /// Gives a member another role.
    pub async fn set_user_role(&self, user: &User, role: Role) -> Result<User, TeamError> {
        let (act, change) = (self.staff(user.org), Change { role: Some(role), ..Change::default() });
        let changed = self.instance.store.write(|tx| team::change(tx, act, user.id, &change).scope_boxed());
        Ok(changed.await??)
    }

    /// Where somebody is signed in, the session that was used last first. How long sessions live is the configuration's.
    pub async fn sessions(&self, user: &User, lifetimes: Lifetimes) -> Result<Vec<Session>, StoreError> {
        let mut conn = self.instance.store.read().await?;
        sessions::of_user(&mut conn, user.org, user.id, lifetimes, self.now()).await
    }

    /// Signs somebody out, of one session or of all; says how many those were. Not found: they have no such session.
    pub async fn sign_out(&self, user: &User, session: Option<&str>) -> Result<u64, StoreError> {
        let id = session.map(str::parse::<SessionId>).transpose().map_err(|_| StoreError::NotFound)?;
        let now = self.now();
        let ended = self.instance.store.write(|tx| {
            async {
                let ended = match id {
                    Some(id) => sessions::revoke(tx, user.org, user.id, id).await.map(|()| 1)?,
                    None => sessions::revoke_all(tx, user.org, user.id, None).await?,
                };
                if ended > 0 {
                    happened(tx, user.org, now, Actor::Staff, AccountEvent::SessionsRevoked).await?;
                }
                Ok(ended)
            }
            .scope_boxed()
        });
        ended.await
    }

    /// Removes a member, or takes an invitation back.
    pub async fn remove_user(&self, user: &User) -> Result<(), TeamError> {
        let act = self.staff(user.org);
        Ok(self.instance.store.write(|tx| team::remove(tx, act, user.id).scope_boxed()).await??)
    }

    /// Says what is known of who somebody is: it is verified, they have yet to show something, or nothing.
    pub async fn set_identity(&self, user: &User, identity: Option<Identity>) -> Result<(), StoreError> {
        let act = self.staff(user.org);
        let said = self.instance.store.write(|tx| {
            async {
                profile::lock(tx, user.org, user.id).await?;
                if profile::read(tx, user.org, user.id).await?.identity == identity {
                    return Ok(());
                }
                profile::set_identity(tx, user.org, user.id, identity).await?;
                let what = [What::of_person("identity_verified")];
                events::add(tx, user.org, act.now, Some(act.actor), &what).await
            }
            .scope_boxed()
        });
        said.await
    }

    /// What is known of who somebody is.
    pub async fn identity(&self, user: &User) -> Result<Option<Identity>, StoreError> {
        Ok(profile::read(&mut self.instance.store.read().await?, user.org, user.id).await?.identity)
    }

    fn staff(&self, org: OrgNo) -> Act {
        Act { org, actor: Actor::Staff, power: Power::all(), now: self.now() }
    }
}
