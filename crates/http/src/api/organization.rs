//! `GET /v1/organization`.

pub mod settings;
pub mod suppressions;

use probity_contract::published::accounts::organization::Organization;
use probity_service::accounts::organization;

use crate::handler::{Answer, Call, answer};

/// Get the organization
///
/// Returns the plan, credits and status of the organization that owns the key.
#[utoipa::path(
    get,
    path = "/v1/organization",
    tag = "Account",
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The organization.", body = Organization))
)]
pub(crate) async fn get_organization(Call(app, caller): Call) -> Answer<Organization> {
    answer(organization::get_organization(&app, &caller).await)
}
