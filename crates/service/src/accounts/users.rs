//! Team members: listed, invited, changed and removed.
//!
//! Members of other organizations are not found. An invitation's link is returned only by the act that creates it. Test
//! keys can only read, because an invited user becomes a real member.

use probity_access::links;
use probity_access::users::{MemberAct, MemberChange, MemberInvitation, Power, change, invite, remove};
use probity_account::id::UserId;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::accounts::users::{DeletedMember, Invite, Line, Member, MemberPatch, NewMember};
use probity_store::accounts::users;
use probity_store::{ScopedFutureExt as _, work};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;

/// Name of the list in its cursors.
const LIST: &str = "/v1/users";

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

/// Invites a user, or replaces the link of an invitation that is not yet accepted.
pub async fn invite_member(app: &App, caller: &Caller, once: &Once, asked: Invite) -> Result<NewMember, ApiError> {
    refuse_test_key(caller)?;
    let act = act(app, caller);
    let wish = MemberInvitation {
        id: probity_access::secrets::random::id(act.now),
        email: asked.email,
        name: asked.name,
        role: asked.role,
        language: asked.language,
        inviter: caller.user(),
    };
    let invited = app.store.write(work!(|tx| {
        let (user, secret) = match invite(tx, act, &wish, &app.config.plans, app.links()).await? {
            Ok(invited) => invited,
            Err(refused) => return Ok(Err(refused)),
        };
        let invitation_url = links::url(app.config.public_url.as_deref(), &secret);
        let shown = NewMember { member: user.into(), invitation_url };
        once.keep(tx, &shown).await?;
        Ok(Ok(shown))
    }));
    Ok(invited.await??)
}

/// Changes the name, role or status of a member.
pub async fn update_member(app: &App, caller: &Caller, id: UserId, patch: MemberPatch) -> Result<Member, ApiError> {
    must_exist(app, caller, id).await?;
    refuse_test_key(caller)?;
    let name = patch.name.map(|Line(name)| name);
    let wanted = MemberChange { name, role: patch.role, status: patch.status };
    let act = act(app, caller);
    let changed = app.store.write(|tx| change(tx, act, id, &wanted).scope_boxed()).await??;
    Ok(changed.into())
}

/// Removes a member, or withdraws an invitation.
pub async fn remove_member(app: &App, caller: &Caller, id: UserId) -> Result<DeletedMember, ApiError> {
    must_exist(app, caller, id).await?;
    refuse_test_key(caller)?;
    let act = act(app, caller);
    app.store.write(|tx| remove(tx, act, id).scope_boxed()).await??;
    // The keyring caches keys with their members.
    app.keyring.forget();
    Ok(DeletedMember { id, deleted: true })
}

/// Reports an unknown ID before any other check, so no other error confirms that an ID exists.
async fn must_exist(app: &App, caller: &Caller, id: UserId) -> Result<(), ApiError> {
    users::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    Ok(())
}

fn act(app: &App, caller: &Caller) -> MemberAct {
    MemberAct {
        org: caller.org(),
        actor: caller.actor(),
        power: Power::of(caller.scopes(), caller.expires_at().is_some()),
        now: app.now(),
    }
}

fn refuse_test_key(caller: &Caller) -> Result<(), ApiError> {
    if caller.is_test() {
        Err(ApiError::forbidden_scope("the team can't be changed in test mode; switch to live mode or use a live key"))
    } else {
        Ok(())
    }
}
