//! `GET /app/first-steps` and `PATCH /app/organization`: what a new organization has done so far, and its name.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::accounts::first_steps;
use probity_service::accounts::first_steps::{FirstSteps, NamedOrganization, OrganizationName};
use probity_service::app::App;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::body::JsonBody;

/// The steps that the organization has taken.
pub(crate) async fn get_steps(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
) -> Result<Json<FirstSteps>, Refusal> {
    Ok(Json(first_steps::get_first_steps(&app, &caller).await?))
}

/// Names the organization.
pub(crate) async fn patch_organization(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    JsonBody(wish): JsonBody<OrganizationName>,
) -> Result<Json<NamedOrganization>, Refusal> {
    Ok(Json(first_steps::name_organization(&app, &caller, wish).await?))
}
