//! Members of an organization, and links for members who cannot sign in.

use axum::extract::State;
use probity_account::id::{OrgId, UserId};
use probity_contract::page::List;
use probity_contract::published::operator::organizations::OneTimeLink;
use probity_contract::published::operator::people::{CreateResetLink, CustomerMember};
use probity_service::operator::people;

use crate::handler::{Answer, AppState, Created, JsonBody, PathId, answer, created};

/// List members
///
/// Lists all members of an organization, newest first, on one page.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations/{id}/users",
    tag = "People",
    params(("id" = String, Path, description = "Organization ID.")),
    responses((status = 200, description = "All members.", body = List<CustomerMember>))
)]
pub(crate) async fn list_people(State(app): AppState, PathId(id): PathId<OrgId>) -> Answer<List<CustomerMember>> {
    answer(people::list_people(&app, id).await)
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
    request_body(content = Option<CreateResetLink>, description = "Options of the link."),
    responses((status = 201, description = "The link.", body = OneTimeLink))
)]
pub(crate) async fn make_reset_link(
    State(app): AppState,
    PathId((id, user)): PathId<(OrgId, UserId)>,
    asked: Option<JsonBody<CreateResetLink>>,
) -> Created<OneTimeLink> {
    let asked = asked.map(|JsonBody(asked)| asked).unwrap_or_default();
    created(people::create_reset_link(&app, id, user, asked).await)
}
