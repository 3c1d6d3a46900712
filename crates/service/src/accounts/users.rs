//! Team members: listed, invited, changed and removed.
//!
//! Members of other organizations are not found. An invitation's link is returned only by the act that creates it. Test
//! keys can only read, because an invited user becomes a real member.
//!
//! Each change is one transaction that locks the team first. A refused change has changed nothing. Of two concurrent ones that need
//! the last seat or the same address, one is refused.

use probity_access::links::{self, Making};
use probity_access::people::attempts;
use probity_access::secrets::random;
use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_account::plans::Plans;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::accounts::users::{DeletedMember, Invite, Line, Member, MemberPatch, NewMember};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::accounts::people::sessions;
use probity_store::accounts::users::{self, TeamMember, UserStatus, invitations, profile};
use probity_store::activity::events::{AccountChange, AccountEventKind, EventSubject};
use probity_store::{StoreError, Tx, work};

use crate::accounts::power::{Power, raises};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;

/// Name of the list in its cursors.
const LIST: &str = "/v1/users";
/// Number of seats without a limit: more than any organization has.
const SEATS_UNLIMITED: i64 = 1_000_000;
const OWNER: &str = "the owner cannot be removed, paused or given another role";

/// Lists the members of an organization, newest first, including invited and paused ones.
pub async fn list_members(app: &App, caller: &Caller, query: PageQuery) -> Result<List<Member>, ApiError> {
    let asked = AskedPage::of(&app.cursors, &query, caller.org_id().to_string(), LIST)?;
    let mut conn = app.store.read().await?;
    let rows = users::page(&mut conn, caller.org(), asked.after, asked.at_most()).await?;
    Ok(asked.list(rows, |row| (row.created_at, row.id), Member::from))
}

pub async fn get_member(app: &App, caller: &Caller, id: UserId) -> Result<Member, ApiError> {
    Ok(users::by_id(&mut app.store.read().await?, caller.org(), id).await?.into())
}

/// Invites a user, or replaces the link of an invitation that is not yet accepted. If the organization has had many invitations
/// mailed, this one is not.
pub async fn invite_member(app: &App, caller: &Caller, once: &Once, asked: Invite) -> Result<NewMember, ApiError> {
    refuse_test_key(caller)?;
    Power::of(caller).invites(asked.role)?;
    let (org, now) = (caller.org(), app.now());
    let id = random::id(now);
    let invited = app.store.write(work!(|tx| {
        users::lock_team(tx, org).await?;
        let user = match invitee(tx, app, caller, &asked, (id, now)).await? {
            Ok(user) => user,
            Err(refused) => return Ok(Err(refused)),
        };
        let making = app.links();
        let by_mail = making.by_mail && attempts::may_mail(tx, making.secrets, org, now).await?;
        let (invitation, secret) = Making { by_mail, ..making }.invitation(&user, now);
        invitations::issue(tx, &invitation).await?;
        let language = language(tx, caller, &asked).await?;
        invitations::speak(tx, org, user.id, language).await?;
        caller.note(tx, now, &[about(AccountEventKind::MemberInvited, user.id)]).await?;
        let invitation_url = links::url(app.config.public_url.as_deref(), &secret);
        let shown = NewMember { member: user.into(), invitation_url };
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(Ok(shown))
    }));
    invited.await?
}

/// Returns the member to invite, stored: a new one with this ID and time, or one who has not accepted yet.
async fn invitee(
    tx: &mut Tx,
    app: &App,
    caller: &Caller,
    asked: &Invite,
    (id, created_at): (UserId, Millis),
) -> Result<Result<TeamMember, ApiError>, StoreError> {
    let org = caller.org();
    match users::member(tx, org, &asked.email).await? {
        Some(user) if user.status != UserStatus::Invited => {
            Ok(Err(ApiError::conflict("this email address already belongs to a member; use another")))
        }
        Some(user) => {
            let again = TeamMember { name: asked.name.clone().or(user.name), role: asked.role, ..user };
            users::write(tx, &again).await?;
            Ok(Ok(again))
        }
        None => {
            let limit = seats(&organization::by_no(tx, org).await?, &app.config.plans);
            if users::seats_used(tx, org).await? >= limit {
                return Ok(Err(ApiError::conflict(format!(
                    "all {limit} seats are taken; remove a member or add seats"
                ))));
            }
            let (email, name, role) = (Some(asked.email.clone()), asked.name.clone(), asked.role);
            let status = UserStatus::Invited;
            let user = TeamMember { org, id, email, name, role, is_primary: false, status, created_at };
            users::insert(tx, &user).await?;
            Ok(Ok(user))
        }
    }
}

/// Returns the language of the mail, if it is known: the requested one, or that of the member who invites or has the key.
async fn language(tx: &mut Tx, caller: &Caller, asked: &Invite) -> Result<Option<PageLanguage>, StoreError> {
    let (None, Some(inviter)) = (asked.language, caller.user()) else { return Ok(asked.language) };
    match profile::read(tx, caller.org(), inviter).await {
        Err(StoreError::NotFound) => Ok(None),
        read => Ok(read?.language),
    }
}

/// Returns the number of seats of an organization.
pub(crate) fn seats(org: &OrgRecord, plans: &Plans) -> i64 {
    org.seats(plans.of(&org.plan)).unwrap_or(SEATS_UNLIMITED)
}

/// Changes the name, role or status of a member. Pausing a member signs them out everywhere. If an invited member becomes an
/// administrator, earlier links end: their creators may still have them, and did not invite an administrator.
pub async fn update_member(app: &App, caller: &Caller, id: UserId, patch: MemberPatch) -> Result<Member, ApiError> {
    must_exist(app, caller, id).await?;
    refuse_test_key(caller)?;
    let (org, now) = (caller.org(), app.now());
    let changed = app.store.write(work!(|tx| {
        users::lock_team(tx, org).await?;
        let before = users::by_id(tx, org, id).await?;
        let judged = |after: TeamMember| Power::of(caller).changes(&before, &after).map(|()| after);
        let after = match patched(&patch, &before).and_then(judged) {
            Ok(after) => after,
            Err(refused) => return Ok(Err(refused)),
        };
        if after != before {
            users::write(tx, &after).await?;
            caller.note(tx, now, &[about(AccountEventKind::MemberChanged, id)]).await?;
        }
        if after.status == UserStatus::Invited && raises(&before, &after) {
            invitations::withdraw(tx, org, id).await?;
        }
        if after.status == UserStatus::Paused {
            sessions::revoke_all(tx, org, id, None).await?;
        }
        Ok::<_, StoreError>(Ok(after))
    }));
    Ok(changed.await??.into())
}

fn patched(patch: &MemberPatch, user: &TeamMember) -> Result<TeamMember, ApiError> {
    let after = TeamMember {
        name: patch.name.clone().map(|Line(name)| name).over(user.name.clone()),
        role: patch.role.unwrap_or(user.role),
        status: patch.status.unwrap_or(user.status),
        ..user.clone()
    };
    if user.status == UserStatus::Invited && patch.status.is_some() {
        let why = "an invited member becomes active by accepting; until then, the status cannot be changed";
        return Err(ApiError::conflict(why));
    }
    if user.is_primary && (after.role != user.role || after.status == UserStatus::Paused) {
        return Err(ApiError::conflict(OWNER));
    }
    Ok(after)
}

/// Removes a member, or withdraws an invitation.
pub async fn remove_member(app: &App, caller: &Caller, id: UserId) -> Result<DeletedMember, ApiError> {
    must_exist(app, caller, id).await?;
    refuse_test_key(caller)?;
    let (org, now) = (caller.org(), app.now());
    let removed = app.store.write(work!(|tx| {
        users::lock_team(tx, org).await?;
        if users::by_id(tx, org, id).await?.is_primary {
            return Ok(Err(ApiError::conflict(OWNER)));
        }
        users::remove(tx, org, id).await?;
        caller.note(tx, now, &[about(AccountEventKind::MemberRemoved, id)]).await?;
        Ok::<_, StoreError>(Ok(()))
    }));
    removed.await??;
    // The keyring caches keys with their members.
    app.keyring.forget();
    Ok(DeletedMember { id, deleted: true })
}

fn about(event: AccountEventKind, member: UserId) -> AccountChange {
    AccountChange::about(event, EventSubject::Member(member))
}

/// Reports an unknown ID before any other check, so no other error confirms that an ID exists.
async fn must_exist(app: &App, caller: &Caller, id: UserId) -> Result<(), ApiError> {
    users::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    Ok(())
}

fn refuse_test_key(caller: &Caller) -> Result<(), ApiError> {
    if caller.is_test() {
        Err(ApiError::forbidden_scope("the team can't be changed in test mode; switch to live mode or use a live key"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use probity_account::role::MemberRole;
    use probity_contract::merge_patch::PatchField;
    use probity_store::OrgNo;

    use super::*;

    fn ann(status: UserStatus, is_primary: bool) -> TeamMember {
        TeamMember {
            org: OrgNo(1),
            id: UserId::from_bits(1),
            email: Some("ann@example.org".into()),
            name: Some("Ann".into()),
            role: MemberRole::Administrator,
            is_primary,
            status,
            created_at: Millis(0),
        }
    }

    #[test]
    fn who_can_be_changed_how() {
        use UserStatus::{Active, Invited, Paused};
        let nothing = || MemberPatch { name: PatchField::Nothing, role: None, status: None };
        let role = |role| MemberPatch { role: Some(role), ..nothing() };
        let status = |status| MemberPatch { status: Some(status), ..nothing() };
        let name = |name: PatchField<Line>| MemberPatch { name, ..nothing() };
        let cases = [
            (Active, false, role(MemberRole::Contributor), None),
            (Active, false, status(Paused), None),
            (Paused, false, status(Active), None),
            (Invited, false, role(MemberRole::Contributor), None),
            (Invited, false, name(PatchField::Cleared), None),
            (Invited, false, status(Active), Some("an invited member")),
            (Invited, false, status(Paused), Some("an invited member")),
            (Active, true, name(PatchField::Given(Line("Bea".into()))), None),
            (Active, true, role(MemberRole::Administrator), None),
            (Active, true, status(Active), None),
            (Active, true, role(MemberRole::Contributor), Some("the owner")),
            (Active, true, status(Paused), Some("the owner")),
        ];
        for (before, is_primary, change, refused) in cases {
            let done = patched(&change, &ann(before, is_primary));
            let why = done.as_ref().err().map(ApiError::message);
            let fits =
                why.is_some() == refused.is_some() && why.unwrap_or_default().starts_with(refused.unwrap_or_default());
            assert!(fits, "{before:?} {is_primary} {change:?}: {why:?}");
            if let Ok(after) = done {
                assert_eq!(after.role, change.role.unwrap_or(MemberRole::Administrator));
                assert_eq!(after.status, change.status.unwrap_or(before));
                assert_eq!(after.name, change.name.map(|Line(name)| name).over(Some("Ann".into())));
            }
        }
    }
}
