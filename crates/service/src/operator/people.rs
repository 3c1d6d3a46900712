//! Members of organizations, and one-time links for those who cannot sign in.

use probity_access::links::{self, Making};
use probity_access::secrets::Secrets;
use probity_account::id::{OrgId, UserId};
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::operator::organizations::OneTimeLink;
use probity_contract::published::operator::people::{CreateResetLink, CustomerMember, IdentifiedMember};
use probity_mail::time::Millis;
use probity_store::accounts::organization;
use probity_store::accounts::people::second_factor;
use probity_store::accounts::users::invitations::{self, Invitation};
use probity_store::accounts::users::profile::{self, IdentityCheck};
use probity_store::accounts::users::{self, TeamMember};
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::{Conn, StoreError, work};
use secrecy::{ExposeSecret as _, SecretString};

use crate::app::App;
use crate::operator::ROWS_AT_ONCE;
use crate::operator::organizations::find_organization;

/// Lifetime of a link from the operator, in milliseconds.
const LINK_MS: i64 = 24 * 3_600_000;

/// Token of a new one-time link, of which only the hash is stored.
#[derive(Debug)]
pub struct LinkToken {
    pub token: SecretString,
    pub expires_at: Millis,
}

/// Lists all members of an organization, newest first, on one page.
pub async fn list_people(app: &App, org: OrgId) -> Result<List<CustomerMember>, ApiError> {
    let org = find_organization(app, org).await?;
    let mut conn = app.store.read().await?;
    let mut all: Vec<TeamMember> = Vec::new();
    loop {
        let after = all.last().map(|user| (user.created_at, user.id));
        let page = users::page(&mut conn, org.no, after, ROWS_AT_ONCE).await?;
        if page.is_empty() {
            return Ok(List::whole(all.into_iter().map(CustomerMember::from).collect()));
        }
        all.extend(page);
    }
}

/// Finds the members that a text identifies, with their organizations: all with this address, the owner of the organization
/// with this ID, or the member with this ID.
pub async fn find_people(app: &App, named: &str) -> Result<Vec<(OrgId, TeamMember)>, ApiError> {
    let mut conn = app.store.read().await?;
    let found = named_people(&mut conn, named).await?;
    let mut people = Vec::with_capacity(found.len());
    for user in found {
        people.push((organization::by_no(&mut conn, user.org).await?.id, user));
    }
    Ok(people)
}

async fn named_people(conn: &mut Conn, named: &str) -> Result<Vec<TeamMember>, StoreError> {
    if let Ok(id) = named.parse::<OrgId>() {
        let org = organization::by_id(conn, id).await?;
        return Ok(vec![users::primary(conn, org.no).await?]);
    }
    if let Ok(id) = named.parse::<UserId>() {
        return Ok(users::anywhere(conn, id).await?.into_iter().collect());
    }
    users::by_email(conn, named).await
}

/// Creates a link for setting a new password, which replaces the member's earlier link. For a lost device, the link also
/// disables two-factor authentication, immediately.
pub async fn create_reset_link(
    app: &App,
    org: OrgId,
    user: UserId,
    asked: CreateResetLink,
) -> Result<OneTimeLink, ApiError> {
    let org = find_organization(app, org).await?;
    let user = users::by_id(&mut app.store.read().await?, org.no, user).await?;
    let now = app.now();
    let (link, invitation) = new_link(&app.secrets, &user, now);
    let issued = app.store.write(work!(|tx| {
        // The member may have been removed since.
        users::by_id(tx, user.org, user.id).await?;
        invitations::issue(tx, &invitation).await?;
        let what = AccountChange::about(AccountEventKind::ResetLinkCreated, EventSubject::Member(user.id));
        events::add(tx, user.org, now, Some(EventActor::Staff), &[what]).await?;
        if asked.without_second_factor && second_factor::forget(tx, user.org, user.id).await? {
            let what = AccountChange::about(AccountEventKind::SecondFactorDisabled, EventSubject::Member(user.id));
            events::add(tx, user.org, now, Some(EventActor::Staff), &[what]).await?;
        }
        Ok::<(), StoreError>(())
    }));
    issued.await?;
    Ok(show_link(app, &link))
}

/// Sets the result of a member's identity check; `None` if there was no check. The timeline records the change without the
/// result.
pub async fn set_identity(
    app: &App,
    org: OrgId,
    user: UserId,
    identity: Option<IdentityCheck>,
) -> Result<IdentifiedMember, ApiError> {
    let org = find_organization(app, org).await?;
    let now = app.now();
    let member = app.store.write(work!(|tx| {
        let member = users::by_id(tx, org.no, user).await?;
        profile::lock(tx, org.no, user).await?;
        if profile::read(tx, org.no, user).await?.identity != identity {
            profile::set_identity(tx, org.no, user, identity).await?;
            let what = [AccountChange::of_person("identity_verified")];
            events::add(tx, org.no, now, Some(EventActor::Staff), &what).await?;
        }
        Ok::<_, StoreError>(member)
    }));
    let member = CustomerMember::from(member.await?);
    Ok(IdentifiedMember { member, identity_verified: identity.map(IdentityCheck::as_str) })
}

/// Returns the link as a URL.
pub(crate) fn show_link(app: &App, link: &LinkToken) -> OneTimeLink {
    let url = links::url(app.config.public_url.as_deref(), link.token.expose_secret());
    OneTimeLink { url, expires_at: link.expires_at.into() }
}

/// Creates a link and the invitation to store for it.
pub(crate) fn new_link(secrets: &Secrets, user: &TeamMember, now: Millis) -> (LinkToken, Invitation) {
    let making = Making { secrets, life_ms: LINK_MS, by_mail: false };
    let (invitation, token) = making.invitation(user, now);
    (LinkToken { token: token.into(), expires_at: invitation.expires_at }, invitation)
}
