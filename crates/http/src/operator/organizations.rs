//! Plans, organizations and restrictions.

use axum::Json;
use axum::extract::State;
use probity_account::id::OrgId;
use probity_contract::page::List;
use probity_contract::published::operator::organizations::{
    CreateCustomer, CreatedCustomer, Customer, CustomerPatch, CustomerWithCredits, HoldCustomer, OrganizationsQuery,
};
use probity_contract::published::operator::plans::ConfiguredPlan;
use probity_service::operator::{holds, organizations, plans};

use crate::handler::{Answer, AppState, Asking, Created, JsonBody, PathId, RunOnce, answer, created};

/// List plans
///
/// Lists the configured plans and the 2 built-in ones.
#[utoipa::path(
    get,
    path = "/admin/v1/plans",
    tag = "Plans",
    responses((status = 200, description = "All plans, by name.", body = List<ConfiguredPlan>))
)]
pub(crate) async fn list_plans(State(app): AppState) -> Json<List<ConfiguredPlan>> {
    Json(plans::list_plans(&app))
}

/// List organizations
///
/// Lists organizations, oldest first. `name` filters by prefix, in any case. A search reads a limited number of
/// organizations: a page can have few or no rows and still have a next page.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations",
    tag = "Organizations",
    params(OrganizationsQuery),
    responses((status = 200, description = "A page of organizations.", body = List<Customer>))
)]
pub(crate) async fn list_organizations(
    State(app): AppState,
    Asking(query): Asking<OrganizationsQuery>,
) -> Answer<List<Customer>> {
    answer(organizations::list_organizations(&app, query).await)
}

/// Create an organization
///
/// Creates an organization and its owner, who has no email address yet. With the link in the response, shown only here,
/// the owner enters an address and sets a password. The link works for 1 day. With an `Idempotency-Key`, a repeated
/// request creates no second organization and returns the same response.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations",
    tag = "Organizations",
    request_body(content = CreateCustomer, description = "Organization to create."),
    extensions(("x-errors" = json!(["idempotency_in_progress", "idempotency_key_reused"]))),
    responses((status = 201, description = "The organization, with its owner's link.", body = CreatedCustomer))
)]
pub(crate) async fn create_organization(
    State(app): AppState,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<CreateCustomer>,
) -> Created<CreatedCustomer> {
    created(organizations::create_organization(&app, &once.created(), asked).await)
}

/// Get an organization
///
/// Returns the organization with its plan, period, limits in effect and credits.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations/{id}",
    tag = "Organizations",
    params(("id" = String, Path, description = "Organization ID.")),
    responses((status = 200, description = "The organization.", body = CustomerWithCredits))
)]
pub(crate) async fn read_organization(State(app): AppState, PathId(id): PathId<OrgId>) -> Answer<CustomerWithCredits> {
    answer(organizations::show_organization(&app, id).await)
}

/// Update an organization
///
/// Changes the name, plan, seats, rate limit, low-balance threshold or entitlements. A new plan begins today: credits of
/// the old plan's month end, and those of the new plan's first month are granted.
#[utoipa::path(
    patch,
    path = "/admin/v1/organizations/{id}",
    tag = "Organizations",
    params(("id" = String, Path, description = "Organization ID.")),
    request_body(content = CustomerPatch, description = "Fields to change."),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The updated organization.", body = CustomerWithCredits))
)]
pub(crate) async fn change_organization(
    State(app): AppState,
    PathId(id): PathId<OrgId>,
    JsonBody(patch): JsonBody<CustomerPatch>,
) -> Answer<CustomerWithCredits> {
    answer(organizations::change_organization(&app, id, patch).await)
}

/// Restrict an organization
///
/// `suspended`, `paused` and `banned` organizations get 403 everywhere except on `/v1/check-key`. After a ban, the
/// response arrives when the organization's jobs are stopped and their credits released. Jobs of `suspended` and `paused`
/// organizations rest until the restriction is lifted, and end after 7 days. `under_review` restricts nothing. A failed
/// request can be repeated.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/hold",
    tag = "Holds",
    params(("id" = String, Path, description = "Organization ID.")),
    request_body(content = HoldCustomer, description = "Kind of restriction and reason."),
    responses((status = 200, description = "The updated organization.", body = Customer))
)]
pub(crate) async fn hold_organization(
    State(app): AppState,
    PathId(id): PathId<OrgId>,
    JsonBody(hold): JsonBody<HoldCustomer>,
) -> Answer<Customer> {
    answer(holds::hold_organization(&app, id, hold).await)
}

/// Lift a restriction
///
/// Makes the organization active again. An active organization stays unchanged.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/lift",
    tag = "Holds",
    params(("id" = String, Path, description = "Organization ID.")),
    responses((status = 200, description = "The updated organization.", body = Customer))
)]
pub(crate) async fn lift_hold(State(app): AppState, PathId(id): PathId<OrgId>) -> Answer<Customer> {
    answer(holds::lift_hold(&app, id).await)
}
