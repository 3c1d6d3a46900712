//! One-time links from the operator: for the owner of a new installation, and for people who cannot get in any more.

use probity_account::id::{OrgId, UserId};
use probity_mail::time::Millis;
use probity_store::events::{AccountEvent, Actor};
use probity_store::organization;
use probity_store::users::invitations::{self, Invitation};
use probity_store::users::{self, User};
use probity_store::{Conn, Result, ScopedFutureExt as _, StoreError, second_factor};
use secrecy::SecretString;

use crate::admin::{Admin, happened};
use crate::links::Making;

/// How long a link that the operator made can be used, in milliseconds.
const LINK_MS: i64 = 24 * 3_600_000;

/// A link that was made. Its token is nowhere else.
#[derive(Debug)]
pub struct ResetLink {
    /// What opens it.
    pub token: SecretString,
    /// From when on it opens nothing.
    pub expires_at: Millis,
}

impl Admin {
    /// The people whom a text names, with their organizations: everybody with this address, the owner of the organization with
    /// this id, or the person with it.
    pub async fn people(&self, named: &str) -> Result<Vec<(OrgId, User)>> {
        let mut conn = self.instance.store.read().await?;
        let named = Self::named_people(&mut conn, named).await?;
        let mut people = Vec::with_capacity(named.len());
        for user in named {
            people.push((organization::by_no(&mut conn, user.org).await?.id, user));
        }
        Ok(people)
    }

    async fn named_people(conn: &mut Conn, named: &str) -> Result<Vec<User>> {
        if let Ok(id) = named.parse::<OrgId>() {
            let org = organization::by_id(conn, id).await?;
            return Ok(vec![users::primary(conn, org.no).await?]);
        }
        if let Ok(id) = named.parse::<UserId>() {
            return Ok(users::anywhere(conn, id).await?.into_iter().collect());
        }
        users::by_email(conn, named).await
    }

    /// Makes a link with which a person sets a new password, in the place of one that they have. Without their second factor
    /// where they have lost it too: it goes at once.
    pub async fn reset_link(&self, user: &User, without_second_factor: bool) -> Result<ResetLink> {
        let now = self.now();
        let (link, invitation) = self.new_link(user, now);
        let issued = self.instance.store.write(|tx| {
            async {
                // Whoever was removed meanwhile gets none.
                users::by_id(tx, user.org, user.id).await?;
                invitations::issue(tx, &invitation).await?;
                happened(tx, user.org, now, Actor::Staff, AccountEvent::ResetLinkCreated).await?;
                if without_second_factor && second_factor::forget(tx, user.org, user.id).await? {
                    happened(tx, user.org, now, Actor::Staff, AccountEvent::SecondFactorDisabled).await?;
                }
                Ok::<(), StoreError>(())
            }
            .scope_boxed()
        });
        issued.await?;
        Ok(ResetLink { token: link, expires_at: invitation.expires_at })
    }

    /// A link that is not stored yet.
    pub(super) fn new_link(&self, user: &User, now: Millis) -> (SecretString, Invitation) {
        let making = Making { secrets: &self.instance.secrets, life_ms: LINK_MS, by_mail: false };
        let (invitation, token) = making.invitation(user, now);
        (token.into(), invitation)
    }
}
