//! `/v1/users`: the members of an organization, and how they are invited.
//!
//! Ids of other organizations' people are not found. An invitation's link is in the answer that made it, and nowhere else. A
//! test key looks, and changes nothing: there is one team, and who is invited to it becomes a real member.

pub mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_core::id::UserId;
use probity_core::role::Role;
use probity_core::time::Millis;
use probity_store::users::{self, User, UserStatus};
use probity_store::{Conn, ScopedFutureExt as _};

use self::view::{DeletedMember, Invite, Line, Member, MemberPatch, NewMember};
use crate::api::merge_patch::Said;
use crate::app::App;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::idempotency::{Answer, Once};
use crate::links;
use crate::openapi::parameters::{PageParams, UserPath};
use crate::page::{Binding, List, PerPage};
use crate::path::PathId;
use crate::query::Query;
use crate::team::{self, Act, Change, Wish};

/// The list's name in its cursors.
const LIST: &str = "/v1/users";

/// List the members
///
/// Everybody who belongs to the organization, newest first, invited and paused members included.
#[utoipa::path(
    get,
    path = "/v1/users",
    tag = "Team",
    params(PageParams),
    security(("bearer" = ["read:team"])),
    responses((status = 200, description = "One page of members.", body = List<Member>))
)]
pub(crate) async fn list_users(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Json<List<Member>>, ApiError> {
    let per_page = PerPage::USUAL.wanted(&query)?;
    let org_id = caller.org_id().to_string();
    let binding = Binding { org: &org_id, list: LIST };
    let after = app.cursors.wanted(&query, binding)?.map(|place| place_of(&place)).transpose()?;
    let mut conn = app.store.read().await?;
    let mut rows = users::page(&mut conn, caller.org(), after, i64::from(per_page) + 1).await?;
    let wanted = usize::try_from(per_page).unwrap_or(usize::MAX);
    let more = rows.len() > wanted;
    rows.truncate(wanted);
    let next = rows.last().filter(|_| more).map(|last| app.cursors.seal(binding, &place(last)));
    Ok(Json(List::new(rows.into_iter().map(Member::from).collect(), next)))
}

/// A member's place in the list.
fn place(user: &User) -> Vec<u8> {
    let mut place = user.created_at.0.to_be_bytes().to_vec();
    place.extend(user.id.bits().to_be_bytes());
    place
}

fn place_of(place: &[u8]) -> Result<(Millis, UserId), ApiError> {
    let refused = || ApiError::invalid("next", "must be a cursor that this list has given");
    let (at, id) = place.split_first_chunk::<8>().ok_or_else(refused)?;
    let id: [u8; 16] = id.try_into().map_err(|_| refused())?;
    Ok((Millis(i64::from_be_bytes(*at)), UserId::from_bits(u128::from_be_bytes(id))))
}

/// Look at a member
///
/// One member of the organization.
#[utoipa::path(
    get,
    path = "/v1/users/{id}",
    tag = "Team",
    params(UserPath),
    security(("bearer" = ["read:team"])),
    responses((status = 200, description = "The member.", body = Member))
)]
pub(crate) async fn get_user(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UserId>,
) -> Result<Json<Member>, ApiError> {
    let user = users::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    Ok(Json(user.into()))
}

/// Invite a member
///
/// The answer has a link, this once, with which the person joins; where the service sends mail, they get another one. Whoever
/// was invited before and has not accepted is invited anew, and the links of before end. An address that is a member's, and
/// an invitation for which there is no seat, are a conflict. Only a key with every scope invites administrators, and a key that
/// expires invites nobody: a member stays.
#[utoipa::path(
    post,
    path = "/v1/users",
    tag = "Team",
    request_body(content = Invite, description = "Whom to invite."),
    security(("bearer" = ["write:team"])),
    responses((status = 201, description = "The invited member, with the link.", body = NewMember))
)]
pub(crate) async fn invite_user(
    State(app): State<Arc<App>>,
    caller: Caller,
    once: Once,
    JsonBody(asked): JsonBody<Invite>,
) -> Result<Answer, ApiError> {
    no_test_key(&caller)?;
    lasts(&caller)?;
    may_give(&caller, asked.role)?;
    let act = act(&app, &caller);
    let (id, making) = (crate::random::id(act.now), app.links());
    let wish = Wish { id, email: asked.email, name: asked.name, role: asked.role };
    let invited = app.store.write(|tx| {
        async {
            let (user, secret) = match team::invite(tx, act, &wish, making).await? {
                Ok(invited) => invited,
                Err(refused) => return Ok(Err(refused)),
            };
            let invitation_url = links::url(app.config.public_url.as_deref(), &secret);
            let shown = NewMember { member: user.into(), invitation_url };
            once.keep(tx, StatusCode::CREATED, &shown).await.map(Ok)
        }
        .scope_boxed()
    });
    Ok(invited.await??)
}

/// Change a member
///
/// The name, the role or the status. Who is paused is signed out and cannot sign in; keys go on. The primary user keeps their
/// role and stays active, and who is invited becomes active by accepting only: anything else is a conflict. A key that expires
/// makes nobody an administrator, and nobody active again.
#[utoipa::path(
    patch,
    path = "/v1/users/{id}",
    tag = "Team",
    params(UserPath),
    request_body(content = MemberPatch, description = "What to change."),
    security(("bearer" = ["write:team"])),
    responses((status = 200, description = "The member after the change.", body = Member))
)]
pub(crate) async fn patch_user(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UserId>,
    JsonBody(patch): JsonBody<MemberPatch>,
) -> Result<Json<Member>, ApiError> {
    let standing = found(&mut app.store.read().await?, &caller, id).await?;
    no_test_key(&caller)?;
    let role = patch.role.filter(|role| *role != standing.role);
    let raised = role == Some(Role::Administrator);
    let revived = patch.status == Some(UserStatus::Active) && standing.status != UserStatus::Active;
    if raised || revived {
        lasts(&caller)?;
    }
    if let Some(role) = role {
        may_give(&caller, role)?;
    }
    let name = match patch.name {
        Said::Nothing => Said::Nothing,
        Said::Cleared => Said::Cleared,
        Said::Given(Line(name)) => Said::Given(name),
    };
    let change = Change { name, role: patch.role, status: patch.status };
    let act = act(&app, &caller);
    let changed = app.store.write(|tx| team::change(tx, act, id, &change).scope_boxed()).await??;
    Ok(Json(changed.into()))
}

/// Remove a member
///
/// They are signed out, and their seat and address are free again; an invitation ends. The keys of the person go on, for the
/// primary user: revoke those that should not. The primary user cannot be removed.
#[utoipa::path(
    delete,
    path = "/v1/users/{id}",
    tag = "Team",
    params(UserPath),
    security(("bearer" = ["write:team"])),
    responses((status = 200, description = "The member is removed.", body = DeletedMember))
)]
pub(crate) async fn delete_user(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UserId>,
) -> Result<Json<DeletedMember>, ApiError> {
    found(&mut app.store.read().await?, &caller, id).await?;
    no_test_key(&caller)?;
    let act = act(&app, &caller);
    app.store.write(|tx| team::remove(tx, act, id).scope_boxed()).await??;
    // Keys are remembered together with whose they are.
    app.keyring.forget();
    Ok(Json(DeletedMember { id, deleted: true }))
}

/// Who makes an id up learns no more than who may not change it.
async fn found(conn: &mut Conn, caller: &Caller, id: UserId) -> Result<User, ApiError> {
    Ok(users::by_id(conn, caller.org(), id).await?)
}

fn act(app: &App, caller: &Caller) -> Act {
    Act { org: caller.org(), actor: caller.actor(), now: app.now() }
}

fn no_test_key(caller: &Caller) -> Result<(), ApiError> {
    if caller.is_test() { Err(ApiError::forbidden_scope("a test key does not change the team")) } else { Ok(()) }
}

/// A member stays when the key that made them has expired, and could make keys that do not: so a key that expires makes none,
/// as it makes no key that lasts longer.
fn lasts(caller: &Caller) -> Result<(), ApiError> {
    match caller.expires_at() {
        Some(_) => {
            Err(ApiError::forbidden_scope("a key that expires gives nobody a lasting place or role in the team"))
        }
        None => Ok(()),
    }
}

/// Nobody raises themselves through a member of their making: an administrator may do everything, so only who may do everything
/// makes one.
fn may_give(caller: &Caller, role: Role) -> Result<(), ApiError> {
    let beyond = role.scopes().iter().find(|scope| !caller.scopes().contains(*scope));
    match beyond {
        Some(scope) if role == Role::Administrator => Err(ApiError::forbidden_scope(format!(
            "the key cannot make an administrator: it lacks the scope `{}`",
            scope.as_str()
        ))),
        _ => Ok(()),
    }
}
