//! Every route of the API: the table of contents.
//!
//! A handler's annotation says its path, its method and the scope that it needs (`security(("bearer" = ["verify"]))`; no
//! scope means any key). [`api`] reads that annotation for the guard, so what the document promises is what is enforced, and
//! a route without a guard cannot be added.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, any};
use probity_account::scope::Scope;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::api::{
    account, batch, callback_secret, check_key, erasures, jobs, keys, organization, reports, timeline, users, verify,
    webhooks,
};
use crate::auth;
use crate::auth::{Caller, Guard, Need, Pace};
use crate::error::Refusal;
use crate::{desk, idempotency, openapi, person};

/// Every route under a key, by path.
fn contents() -> [UtoipaMethodRouter<Arc<App>>; 31] {
    [
        // Verification
        routes!(verify::verify_email),
        routes!(check_key::check_key),
        routes!(batch::submit::submit_batch),
        routes!(batch::status::get_batch_status),
        routes!(batch::results::get_batch_results),
        routes!(batch::results::get_batch_results_without_index),
        routes!(batch::download::download_batch),
        routes!(batch::cancel::cancel_batch),
        routes!(jobs::list_jobs),
        routes!(jobs::get_job),
        // Account
        routes!(account::get_account, account::patch_account),
        routes!(organization::get_organization),
        routes!(organization::settings::get_settings, organization::settings::patch_settings),
        routes!(
            organization::suppressions::get_suppressions,
            organization::suppressions::add_suppressions,
            organization::suppressions::remove_suppressions
        ),
        routes!(timeline::get_timeline),
        routes!(keys::list_api_keys, keys::create_api_key),
        routes!(keys::delete_api_key),
        // Team
        routes!(users::list_users, users::invite_user),
        routes!(users::get_user, users::patch_user, users::delete_user),
        // Reports
        routes!(reports::get_usage),
        routes!(reports::get_daily_usage),
        // Webhooks
        routes!(callback_secret::get_callback_secret),
        routes!(callback_secret::rotate_callback_secret),
        routes!(webhooks::list_webhooks, webhooks::create_webhook),
        routes!(webhooks::get_webhook, webhooks::patch_webhook, webhooks::delete_webhook),
        routes!(webhooks::rotate_webhook_secret),
        routes!(webhooks::deliveries::test_webhook),
        routes!(webhooks::deliveries::list_webhook_deliveries),
        routes!(webhooks::deliveries::redeliver),
        // Privacy
        routes!(erasures::list_erasures, erasures::create_erasure),
        routes!(erasures::get_erasure),
    ]
}

/// The routes, each behind the guard that its annotation asks for. Repeatable POSTs are within: only a caller who may can
/// use an `Idempotency-Key`.
pub(crate) fn api(app: &Arc<App>) -> Router {
    guarded(app, |methods, guard| methods.route_layer(from_fn_with_state(guard, auth::layer)))
}

/// The same routes for the dashboard's pages: a session in the place of the key.
pub(crate) fn api_of_pages(app: &Arc<App>) -> Router {
    guarded(app, |methods, guard| methods.route_layer(from_fn_with_state(guard, person::guard::api)))
}

/// The same routes for whoever runs the installation.
pub(crate) fn api_of_desk(app: &Arc<App>, caller: &Caller) -> Router {
    guarded(app, |methods, guard| {
        let clerk = desk::Clerk { guard, caller: caller.clone() };
        methods.route_layer(from_fn_with_state(clerk, desk::guard))
    })
}

fn guarded(app: &Arc<App>, behind: impl Fn(MethodRouter<Arc<App>>, Guard) -> MethodRouter<Arc<App>>) -> Router {
    let guarded = |(schemas, paths, methods): UtoipaMethodRouter<Arc<App>>| {
        let guard = Guard { app: app.clone(), needs: needs(&paths), pace: pace(&paths) };
        let methods = if streams(&paths) {
            methods
        } else {
            methods.route_layer(from_fn_with_state(app.clone(), idempotency::layer))
        };
        let mut methods = behind(methods, guard);
        if spends(&paths) {
            let refused = async || ([(header::ALLOW, "GET")], Refusal(ApiError::method_not_allowed()));
            methods = methods.head(refused).fallback(refused);
        }
        (schemas, paths, methods)
    };
    let routes = contents().into_iter().map(guarded).fold(OpenApiRouter::new(), OpenApiRouter::routes);
    Router::from(routes).with_state(app.clone())
}

/// What a node answers under `/v1` and `/app` that does not serve the API: nothing is wrong with the request, it came to the
/// wrong node.
pub(crate) fn elsewhere() -> Router {
    let answer = any(async || {
        Refusal(ApiError::new(Code::ServiceUnavailable, "this node does not serve the API").retry_after(1))
    });
    ["/v1", "/v1/{*path}", "/app", "/app/{*path}"]
        .into_iter()
        .fold(Router::new(), |routes, path| routes.route(path, answer.clone()))
}

/// Whether a path's body is read by its handler, which then sees to its repetition itself: such a body is never whole in
/// memory, and the layer would hold it.
fn streams(paths: &utoipa::openapi::Paths) -> bool {
    ["/v1/batch-verify", "/v1/organization/suppressions/{list}"].iter().any(|path| paths.paths.contains_key(*path))
}

/// The limit that an organization has set for its keys does not hold back the route that changes it.
fn pace(paths: &utoipa::openapi::Paths) -> Pace {
    if paths.paths.contains_key("/v1/organization/settings") { Pace::AsAllowed } else { Pace::AsWished }
}

/// Whether GET spends credits and asks mail servers there. Whoever sends HEAD wants to know something about an answer and not
/// to pay for one, and nothing is known of this answer before it is there; so HEAD is no method of the path, as RFC 9110,
/// section 15.5.6, has it.
fn spends(paths: &utoipa::openapi::Paths) -> bool {
    paths.paths.contains_key("/v1/verify")
}

/// What the annotations say of the routes; needs nothing that runs.
pub(crate) fn described() -> OpenApi {
    contents().into_iter().fold(OpenApiRouter::new(), OpenApiRouter::routes).into_openapi()
}

/// What each method of a path needs.
///
/// # Panics
/// When an annotation names no known scope: a mistake in the program, found at the first start.
fn needs(paths: &utoipa::openapi::Paths) -> Arc<[(Method, Need)]> {
    let items = paths.paths.values();
    let named = items.flat_map(openapi::methods).map(|(method, operation)| {
        let method = Method::from_bytes(method.as_bytes()).expect("names of methods are tokens");
        let need = match openapi::scope(operation) {
            None => Need::AnyKey,
            Some(name) => Need::Scope(Scope::from_name(&name).unwrap_or_else(|| panic!("no scope is called {name:?}"))),
        };
        (method, need)
    });
    named.collect()
}
