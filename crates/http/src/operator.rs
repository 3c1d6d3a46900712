//! The operator's API, `/admin/v1`: customers, their plans, credits, holds and people, for programs of whoever runs the service.
//!
//! It is there where a key is configured for it, and not otherwise; that key opens nothing else, and no customer's key or session
//! opens anything here ([`guard`]). It does what the command line does, by the same functions ([`probity_service::admin`]), and
//! what it does
//! has the actor `staff` in the timeline: who it was is not known here. Answers have the same form as those of the API, its
//! description is at `/admin/v1/openapi.json`. It may listen on addresses of its own.

mod credits;
mod document;
mod guard;
mod organizations;
mod people;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use probity_service::admin::Admin;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use secrecy::SecretString;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::error::Refusal;
use crate::idempotency;

pub use document::document;

/// How the operator's API is served.
#[derive(Clone, Debug)]
pub struct OperatorConfig {
    /// What opens it.
    pub key: SecretString,
    /// Whether it is served on addresses of its own only.
    pub apart: bool,
}

/// What the routes need.
pub(crate) struct Operator {
    pub(crate) app: Arc<App>,
    pub(crate) admin: Admin,
    pub(crate) key: SecretString,
}

type Shared = Arc<Operator>;

/// Every route, by path.
fn contents() -> [UtoipaMethodRouter<Shared>; 10] {
    [
        routes!(organizations::list_plans),
        routes!(organizations::list_organizations, organizations::create_organization),
        routes!(organizations::read_organization, organizations::change_organization),
        routes!(organizations::hold_organization),
        routes!(organizations::lift_hold),
        routes!(credits::grant_credits),
        routes!(credits::adjust_credits),
        routes!(credits::read_ledger),
        routes!(people::list_people),
        routes!(people::make_reset_link),
    ]
}

/// What the annotations say of the routes.
fn described() -> OpenApi {
    contents().into_iter().fold(OpenApiRouter::new(), OpenApiRouter::routes).into_openapi()
}

/// The routes behind their guard.
pub(crate) fn routes(app: &Arc<App>, admin: Admin, config: &OperatorConfig) -> Router {
    let operator = Arc::new(Operator { app: app.clone(), admin, key: config.key.clone() });
    let routes = contents().into_iter().fold(OpenApiRouter::new(), OpenApiRouter::routes);
    // On addresses of its own it is not where customers reach the service.
    let public_url = app.config.public_url.as_deref().filter(|_| !config.apart);
    let described = serde_json::to_value(document(public_url)).expect("a document is plain JSON");
    let routes = Router::from(routes).route("/admin/v1/openapi.json", get(async move || Json(described.clone())));
    // Paths that nobody answers are behind the guard too: without the key nothing is learnt.
    let unknown = async || Refusal(ApiError::not_found());
    let routes = routes.route("/admin/v1", get(unknown)).route("/admin/v1/{*path}", axum::routing::any(unknown));
    let routes = routes.layer(from_fn_with_state(app.clone(), repeatable));
    routes.layer(from_fn_with_state(operator.clone(), guard::guard)).with_state(operator)
}

/// Lets the request be repeated that would make something anew each time. What is booked has references.
async fn repeatable(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.uri().path() == organizations::LIST {
        idempotency::layer_of_operator(app, request, next).await
    } else {
        next.run(request).await
    }
}

/// An account that does not cover what is taken from it: no 402, which would say that the operator has to pay.
fn uncovered() -> ApiError {
    ApiError::new(Code::Conflict, "amount: removes more credits than are available")
}
