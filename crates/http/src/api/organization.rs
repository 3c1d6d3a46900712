//! `GET /v1/organization`.

pub mod settings;
pub mod suppressions;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_contract::published::accounts::organization::Organization;
use probity_service::accounts::organization;
use probity_service::app::App;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;

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
pub(crate) async fn get_organization(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
) -> Result<Json<Organization>, Refusal> {
    Ok(Json(organization::get_organization(&app, &caller).await?))
}
