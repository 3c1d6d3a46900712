//! `/v1/users`.

use probity_account::id::UserId;
use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::UserPath;
use probity_contract::published::accounts::users::{DeletedMember, Invite, Member, MemberPatch, NewMember};
use probity_service::accounts::users;

use crate::handler::{Answer, Asking, Call, Created, JsonBody, PathId, RunOnce, answer, created};

/// List members
///
/// Lists all members of the organization, newest first, including invited and paused ones.
#[utoipa::path(
    get,
    path = "/v1/users",
    tag = "Team",
    params(PageQuery),
    security(("bearer" = ["read:team"])),
    responses((status = 200, description = "A page of members.", body = List<Member>))
)]
pub(crate) async fn list_users(Call(app, caller): Call, Asking(query): Asking<PageQuery>) -> Answer<List<Member>> {
    answer(users::list_members(&app, &caller, query).await)
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
pub(crate) async fn get_user(Call(app, caller): Call, PathId(id): PathId<UserId>) -> Answer<Member> {
    answer(users::get_member(&app, &caller, id).await)
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
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 201, description = "The invited member, with the link.", body = NewMember))
)]
pub(crate) async fn invite_user(
    Call(app, caller): Call,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<Invite>,
) -> Created<NewMember> {
    created(users::invite_member(&app, &caller, &once.created(), asked).await)
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
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The updated member.", body = Member))
)]
pub(crate) async fn patch_user(
    Call(app, caller): Call,
    PathId(id): PathId<UserId>,
    JsonBody(patch): JsonBody<MemberPatch>,
) -> Answer<Member> {
    answer(users::update_member(&app, &caller, id, patch).await)
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
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The member is removed.", body = DeletedMember))
)]
pub(crate) async fn delete_user(Call(app, caller): Call, PathId(id): PathId<UserId>) -> Answer<DeletedMember> {
    answer(users::remove_member(&app, &caller, id).await)
}
