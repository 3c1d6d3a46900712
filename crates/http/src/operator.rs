//! The operator's API, `/admin/v1`: customers, with their plans, credits, restrictions and members, for the operator's programs.
//!
//! It exists only if its key is configured. That key opens nothing else, and no customer's key or session opens this API
//! ([`guard`]). Its acts are those of the command line ([`probity_service::operator`]), recorded with the actor `staff`, because
//! the sender of a request is unknown. Responses have the same form as those of the API; the document is at
//! `/admin/v1/openapi.json`. The API may listen on separate addresses.

mod credits;
mod document;
mod guard;
mod organizations;
mod people;

use std::sync::Arc;

use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Json, Router};
use probity_contract::error::ApiError;
use probity_service::app::App;
use secrecy::SecretString;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::callers::idempotency;
use crate::error::Refusal;
use crate::openapi;

pub use document::document;

/// Configuration of the operator's API.
#[derive(Clone, Debug)]
pub struct OperatorConfig {
    /// Key of the API.
    pub key: SecretString,
    /// Whether it is served on separate addresses only.
    pub apart: bool,
}

/// State of the guard.
pub(crate) struct Operator {
    pub(crate) app: Arc<App>,
    pub(crate) key: SecretString,
}

/// Returns every route, by path.
fn contents() -> [UtoipaMethodRouter<Arc<App>>; 10] {
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

/// Returns the document of the annotations.
fn described() -> OpenApi {
    contents().into_iter().fold(OpenApiRouter::new(), OpenApiRouter::routes).into_openapi()
}

/// Builds the routes behind their guard.
pub(crate) fn routes(app: &Arc<App>, config: &OperatorConfig) -> Router {
    let operator = Arc::new(Operator { app: app.clone(), key: config.key.clone() });
    let repeatable = |(schemas, paths, methods): UtoipaMethodRouter<Arc<App>>| {
        let is_repeatable =
            paths.paths.values().flat_map(openapi::methods).any(|(_, it)| openapi::errors::is_repeatable(it));
        let layer = from_fn_with_state(app.clone(), idempotency::layer_of_operator);
        (schemas, paths, if is_repeatable { methods.route_layer(layer) } else { methods })
    };
    let routes = contents().into_iter().map(repeatable).fold(OpenApiRouter::new(), OpenApiRouter::routes);
    // Separate addresses are not the service's public URL.
    let public_url = app.config.public_url.as_deref().filter(|_| !config.apart);
    let described = serde_json::to_value(document(public_url)).expect("a document is plain JSON");
    let routes = Router::from(routes).route("/admin/v1/openapi.json", get(async move || Json(described.clone())));
    // Unknown paths are behind the guard, too, so that clients without the key learn nothing.
    let unknown = async || Refusal(ApiError::not_found());
    let routes = routes.route("/admin/v1", get(unknown)).route("/admin/v1/{*path}", axum::routing::any(unknown));
    routes.layer(from_fn_with_state(operator, guard::guard)).with_state(app.clone())
}
