//! Finds the account of a provider's user: bound earlier, found by address, or new.

use probity_account::name;
use probity_mail::time::Millis;
use probity_store::accounts::organization;
use probity_store::accounts::people::passwords::SecretHash;
use probity_store::accounts::sso::{self, StoredSso};
use probity_store::accounts::users::{self, TeamMember, UserStatus, invitations};
use probity_store::{StoreError, Tx};

use super::SsoRefusal;
use crate::accounts::people::Visitor;
use crate::accounts::people::sign_in::FreshSession;
use crate::accounts::users::seats;
use crate::app::App;

/// User that a provider has identified.
pub(super) struct Arrived {
    pub(super) sso: StoredSso,
    pub(super) email: String,
    /// Domains that must be proven: that of the address, and that of the provider's account.
    pub(super) domains: Vec<String>,
    pub(super) name: Option<String>,
    /// Keyed hash of issuer and subject.
    pub(super) subject: SecretHash,
}

impl Arrived {
    /// Returns the session to start, in the transaction that starts it. All conditions are checked again under the team's lock,
    /// so that no session survives a change of the settings or of the team.
    pub(super) async fn admit(
        &self,
        app: &App,
        tx: &mut Tx,
        visitor: &Visitor,
        now: Millis,
    ) -> Result<Result<FreshSession, SsoRefusal>, StoreError> {
        let org = self.sso.org;
        users::lock_team(tx, org).await?;
        if sso::of(tx, org).await?.as_ref() != Some(&self.sso) {
            return Ok(Err(SsoRefusal::Stale));
        }
        for domain in &self.domains {
            if !sso::is_proven(tx, org, domain).await? {
                return Ok(Err(SsoRefusal::Domain));
            }
        }
        let user = match self.find(tx).await? {
            Ok(Some(user)) if user.status == UserStatus::Paused => return Ok(Err(SsoRefusal::Paused)),
            Ok(Some(user)) => {
                invitations::accept(tx, &user, now).await?;
                user
            }
            Ok(None) => match self.join(app, tx, now).await? {
                Ok(user) => user,
                Err(refusal) => return Ok(Err(refusal)),
            },
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(Ok(FreshSession::of(app, org, user.id, visitor)))
    }

    /// Finds the bound member, or binds the member with the address.
    async fn find(&self, tx: &mut Tx) -> Result<Result<Option<TeamMember>, SsoRefusal>, StoreError> {
        let org = self.sso.org;
        if let Some(id) = sso::by_subject(tx, org, &self.subject).await? {
            return users::by_id(tx, org, id).await.map(|user| Ok(Some(user)));
        }
        let Some(user) = users::member(tx, org, &self.email).await? else { return Ok(Ok(None)) };
        // A provider can reassign an address to another user, but not the account here.
        if sso::is_bound(tx, org, user.id).await? {
            return Ok(Err(SsoRefusal::OtherAccount));
        }
        if user.status != UserStatus::Paused {
            sso::bind(tx, org, user.id, &self.subject).await?;
        }
        Ok(Ok(Some(user)))
    }

    /// Adds the user as a member, if new members are admitted and a seat is free. A restricted organization admits none.
    async fn join(&self, app: &App, tx: &mut Tx, now: Millis) -> Result<Result<TeamMember, SsoRefusal>, StoreError> {
        let org = self.sso.org;
        let Some(role) = self.sso.newcomer_role else { return Ok(Err(SsoRefusal::NoMember)) };
        let record = organization::by_no(tx, org).await?;
        if record.status.is_stopped() {
            return Ok(Err(SsoRefusal::NoMember));
        }
        let limit = seats(&record, &app.config.plans);
        if users::seats_used(tx, org).await? >= limit {
            return Ok(Err(SsoRefusal::Seats));
        }
        let user = TeamMember {
            org,
            id: probity_access::secrets::random::id(now),
            email: Some(self.email.clone()),
            name: self.name.as_deref().and_then(|name| name::name(name).ok()).map(str::to_owned),
            role,
            is_primary: false,
            status: UserStatus::Active,
            created_at: now,
        };
        users::insert(tx, &user).await?;
        invitations::accept(tx, &user, now).await?;
        invitations::joined(tx, &user, now).await?;
        sso::bind(tx, org, user.id, &self.subject).await?;
        Ok(Ok(user))
    }
}
