//! The people of an organization, and links for those who cannot get in.

mod view;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::{OrgId, UserId};
use probity_service::page::List;
use probity_store::users;

use crate::body::JsonBody;
use crate::error::Refusal;
use crate::operator::Shared;
use crate::operator::organizations::view::OneTimeLink;
use crate::operator::organizations::{find, link};
use crate::operator::people::view::{Person, ResetWish};
use crate::path::{PathId, PathIds};

/// List members
///
/// Lists all members of an organization, newest first, on one page.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations/{id}/users",
    tag = "People",
    params(("id" = String, Path, description = "Organization ID.")),
    responses((status = 200, description = "All members.", body = List<Person>))
)]
pub(crate) async fn list_people(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
) -> Result<Json<List<Person>>, Refusal> {
    let org = find(&operator, id).await?;
    let people = operator.admin.list_users(&org).await?;
    Ok(Json(List::whole(people.into_iter().map(Person::from).collect())))
}

/// Create a password reset link
///
/// Creates a one-time link for setting a new password, shown only here. The link works for 1 day and replaces the
/// member's earlier link.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/users/{user_id}/reset-link",
    tag = "People",
    params(
        ("id" = String, Path, description = "Organization ID."),
        ("user_id" = String, Path, description = "Member ID."),
    ),
    request_body(content = Option<ResetWish>, description = "Options of the link."),
    responses((status = 201, description = "The link.", body = OneTimeLink))
)]
pub(crate) async fn make_reset_link(
    State(operator): State<Shared>,
    PathIds(id, user): PathIds<OrgId, UserId>,
    wish: Option<JsonBody<ResetWish>>,
) -> Result<(StatusCode, Json<OneTimeLink>), Refusal> {
    let wish = wish.map(|JsonBody(wish)| wish).unwrap_or_default();
    let org = find(&operator, id).await?;
    let user = users::by_id(&mut operator.app.store.read().await?, org.no, user).await?;
    let made = operator.admin.reset_link(&user, wish.without_second_factor).await?;
    Ok((StatusCode::CREATED, Json(link(&operator, &made))))
}
