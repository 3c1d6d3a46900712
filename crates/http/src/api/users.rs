//! `/v1/users`: the members of an organization, and how they are invited.
//!
//! Ids of other organizations' people are not found. An invitation's link is in the answer that made it, and nowhere else. A
//! test key looks, and changes nothing: there is one team, and who is invited to it becomes a real member.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::UserId;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::links;
use probity_service::merge_patch::Said;
use probity_service::page::{Asked, List};
use probity_service::published::users::{DeletedMember, Invite, Line, Member, MemberPatch, NewMember};
use probity_service::users as team;
use probity_service::users::{Act, Change, Power, Wish};
use probity_store::users::{self, User};
use probity_store::{Conn, ScopedFutureExt as _};

use crate::asking::Asking;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};
use crate::openapi::parameters::{PageParams, UserPath};
use crate::path::PathId;

/// The list's name in its cursors.
const LIST: &str = "/v1/users";

/// List members
///
/// Lists all members of the organization, newest first, including invited and paused ones.
#[utoipa::path(
    get,
    path = "/v1/users",
    tag = "Team",
    params(PageParams),
    security(("bearer" = ["read:team"])),
    responses((status = 200, description = "A page of members.", body = List<Member>))
)]
pub(crate) async fn list_users(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<List<Member>>, Refusal> {
    let asked = Asked::of(&app.cursors, &query, caller.org_id().to_string(), LIST)?;
    let mut conn = app.store.read().await?;
    let rows = users::page(&mut conn, caller.org(), asked.after, asked.at_most()).await?;
    Ok(Json(asked.list(rows, |row| (row.created_at, row.id), Member::from)))
}

/// Get a member
///
/// Returns one member of the organization.
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
) -> Result<Json<Member>, Refusal> {
    let user = users::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    Ok(Json(user.into()))
}

/// Invite a member
///
/// Returns a one-time link for joining, shown only here. If the service sends mail, the person also gets another link by
/// email. Inviting a pending member again replaces their links. The response is 409 if the address belongs to a member or
/// no seat is free. The key needs every scope of the role. A key that expires cannot invite, because the member would
/// outlast it.
#[utoipa::path(
    post,
    path = "/v1/users",
    tag = "Team",
    request_body(content = Invite, description = "The person to invite."),
    security(("bearer" = ["write:team"])),
    responses((status = 201, description = "The invited member, with the link.", body = NewMember))
)]
pub(crate) async fn invite_user(
    State(app): State<Arc<App>>,
    caller: Caller,
    once: Once,
    JsonBody(asked): JsonBody<Invite>,
) -> Result<Answer, Refusal> {
    no_test_key(&caller)?;
    let act = act(&app, &caller);
    let (id, making) = (probity_service::random::id(act.now), app.links());
    let wish = Wish { id, email: asked.email, name: asked.name, role: asked.role };
    let invited = app.store.write(|tx| {
        async {
            let (user, secret) = match team::invite(tx, act, &wish, &app.config.plans, making).await? {
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

/// Update a member
///
/// Changes the name, role or status. Pausing a member signs them out and blocks sign-in; their keys keep working. The
/// owner cannot be paused or given another role, and an invited member becomes active only by accepting (409 otherwise).
/// If an invited member becomes an administrator, their links end: invite them again for a new one. To promote to
/// administrator or to reactivate a member, a key needs every scope of the role and must not expire.
#[utoipa::path(
    patch,
    path = "/v1/users/{id}",
    tag = "Team",
    params(UserPath),
    request_body(content = MemberPatch, description = "Fields to change."),
    security(("bearer" = ["write:team"])),
    responses((status = 200, description = "The updated member.", body = Member))
)]
pub(crate) async fn patch_user(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<UserId>,
    JsonBody(patch): JsonBody<MemberPatch>,
) -> Result<Json<Member>, Refusal> {
    found(&mut app.store.read().await?, &caller, id).await?;
    no_test_key(&caller)?;
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
/// Signs the member out and frees their seat and address; a pending invitation ends. Their keys keep working and then act
/// for the owner: revoke those that are no longer needed. The owner cannot be removed.
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
) -> Result<Json<DeletedMember>, Refusal> {
    found(&mut app.store.read().await?, &caller, id).await?;
    no_test_key(&caller)?;
    let act = act(&app, &caller);
    app.store.write(|tx| team::remove(tx, act, id).scope_boxed()).await??;
    // Keys are remembered together with whose they are.
    app.keyring.forget();
    Ok(Json(DeletedMember { id, deleted: true }))
}

/// Who makes an id up learns no more than who may not change it.
async fn found(conn: &mut Conn, caller: &Caller, id: UserId) -> Result<User, Refusal> {
    Ok(users::by_id(conn, caller.org(), id).await?)
}

fn act(app: &App, caller: &Caller) -> Act {
    Act {
        org: caller.org(),
        actor: caller.actor(),
        power: Power::of(caller.scopes(), caller.expires_at().is_some()),
        now: app.now(),
    }
}

fn no_test_key(caller: &Caller) -> Result<(), Refusal> {
    if caller.is_test() {
        Err(ApiError::forbidden_scope("test keys can't change the team; use a live key").into())
    } else {
        Ok(())
    }
}
