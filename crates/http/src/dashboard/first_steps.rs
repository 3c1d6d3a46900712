//! `GET /app/first-steps` and `PATCH /app/organization`: what a new organization has done so far, and its name.

use axum::Json;
use probity_service::accounts::first_steps;
use probity_service::accounts::first_steps::{FirstSteps, NamedOrganization, OrganizationName};

use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::body::JsonBody;

/// The steps that the organization has taken.
pub(crate) async fn get_steps(Call(app, caller): Call) -> Answer<FirstSteps> {
    Ok(Json(first_steps::get_first_steps(&app, &caller).await?))
}

/// Names the organization.
pub(crate) async fn patch_organization(
    Call(app, caller): Call,
    JsonBody(wish): JsonBody<OrganizationName>,
) -> Answer<NamedOrganization> {
    Ok(Json(first_steps::name_organization(&app, &caller, wish).await?))
}
