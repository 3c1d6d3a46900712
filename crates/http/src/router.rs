//! All routes of the API.
//!
//! A handler's annotation declares path, method and required scope (`security(("bearer" = ["verify"]))`; without a scope, any
//! key suffices). [`api`] derives the guard from the annotation, so the service enforces what the document promises, and no
//! route can lack a guard.

use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, any};
use probity_account::scope::Scope;
use probity_contract::error::{ApiError, Code};
use probity_service::app::App;
use probity_service::callers::admission::{LimitChoice, Need};
use utoipa::openapi::{OpenApi, Paths};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::api::webhooks::callback_secret;
use crate::api::{
    account, batch, check_key, connections, erasures, jobs, keys, organization, outcomes, reports, timeline, users,
    verify, webhooks,
};
use crate::callers::auth::RouteGuard;
use crate::callers::{auth, idempotency};
use crate::handler::{Refusal, only_get};
use crate::{openapi, person};

/// One path, with its differences from other paths.
#[expect(clippy::struct_excessive_bools, reason = "the properties of a path are independent")]
struct Route {
    methods: UtoipaMethodRouter<Arc<App>>,
    /// The handler reads the body itself, in pieces, and handles repetitions: the idempotency layer would hold the whole body.
    streams: bool,
    /// POST grants permissions (a key, an invitation), so the handler also checks the caller's expiry and rate limit.
    grants: bool,
    /// GET spends credits, so it is the only method ([`only_get`]).
    spends: bool,
    /// The organization's own limit does not apply to these requests, because they can raise it.
    is_never_slowed: bool,
    /// The data belongs to one mode, live or test. Other data is the organization's, and pages in test mode must not request it.
    has_modes: bool,
}

fn plain(methods: UtoipaMethodRouter<Arc<App>>) -> Route {
    Route { methods, streams: false, grants: false, spends: false, is_never_slowed: false, has_modes: false }
}

fn moded(methods: UtoipaMethodRouter<Arc<App>>) -> Route {
    Route { has_modes: true, ..plain(methods) }
}

/// Also serves the path without `/keywords`, for earlier clients.
fn by_short_path((schemas, long, methods): UtoipaMethodRouter<Arc<App>>) -> UtoipaMethodRouter<Arc<App>> {
    let mut short = Paths::new();
    for (path, mut item) in long.paths {
        debug_assert!(path.contains("/keywords/"), "{path} has no short form");
        for (_, operation) in openapi::operations_mut(&mut item) {
            operation.operation_id = operation.operation_id.take().map(|id| format!("{id}_by_short_path"));
            operation.summary = operation.summary.take().map(|summary| format!("{summary}, by the short path"));
            operation.description = Some("Does the same as the path with `/keywords`.".to_owned());
        }
        short.paths.insert(path.replace("/keywords/", "/"), item);
    }
    (schemas, short, methods)
}

/// Returns every route that needs a key, by path.
fn contents() -> impl Iterator<Item = Route> {
    let first = verification().into_iter().chain(account_and_keys()).chain(team()).chain(usage());
    first.chain(integrations()).chain(events()).chain(privacy())
}

fn verification() -> Vec<Route> {
    vec![
        Route { spends: true, ..moded(routes!(verify::verify_email)) },
        plain(routes!(check_key::check_key)),
        Route { streams: true, ..moded(routes!(batch::submit::submit_batch)) },
        moded(routes!(batch::get_batch_status)),
        moded(routes!(batch::results::get_batch_results)),
        moded(routes!(batch::results::get_batch_results_without_index)),
        moded(routes!(batch::download::download_batch)),
        moded(routes!(batch::cancel_batch)),
        moded(routes!(jobs::list_jobs)),
        moded(routes!(jobs::get_job)),
    ]
}

fn account_and_keys() -> Vec<Route> {
    vec![
        plain(routes!(account::get_account, account::patch_account)),
        plain(routes!(organization::get_organization)),
        Route {
            is_never_slowed: true,
            ..plain(routes!(organization::settings::get_settings, organization::settings::patch_settings))
        },
        Route {
            streams: true,
            ..plain(routes!(
                organization::suppressions::get_suppressions,
                organization::suppressions::add_suppressions,
                organization::suppressions::remove_suppressions
            ))
        },
        plain(routes!(outcomes::report_outcomes)),
        plain(routes!(outcomes::sources::list_outcome_sources, outcomes::sources::create_outcome_source)),
        plain(routes!(outcomes::sources::delete_outcome_source)),
        moded(routes!(timeline::get_timeline)),
        Route { grants: true, ..plain(routes!(keys::list_api_keys, keys::create_api_key)) },
        plain(routes!(keys::delete_api_key)),
    ]
}

fn team() -> Vec<Route> {
    vec![
        Route { grants: true, ..plain(routes!(users::list_users, users::invite_user)) },
        plain(routes!(users::get_user, users::patch_user, users::delete_user)),
    ]
}

fn usage() -> Vec<Route> {
    vec![
        plain(routes!(reports::get_usage)),
        plain(routes!(reports::get_daily_usage)),
        plain(routes!(reports::get_usage_breakdown)),
    ]
}

fn integrations() -> Vec<Route> {
    vec![
        moded(routes!(connections::changes::list_changes)),
        moded(routes!(connections::integrations::list_integrations)),
        moded(routes!(connections::integrations::get_integration)),
        moded(routes!(connections::connection::create_connection)),
        moded(routes!(
            connections::connection::get_connection,
            connections::connection::patch_connection,
            connections::connection::delete_connection
        )),
        moded(routes!(connections::connection::test_connection)),
        moded(routes!(connections::connection::list_connection_lists)),
        moded(routes!(connections::connection::get_connection_schedule)),
        moded(routes!(connections::runs::sync_connection)),
        moded(routes!(connections::runs::list_runs, connections::runs::start_run)),
        moded(routes!(connections::runs::get_run)),
        moded(routes!(connections::runs::confirm_run)),
        moded(routes!(connections::runs::cancel_run)),
        moded(routes!(connections::review::list_review)),
        moded(routes!(connections::review::download_review)),
        moded(routes!(connections::review::decide_review)),
        moded(routes!(connections::rules::list_keyword_rules, connections::rules::add_keyword_rules)),
        moded(routes!(connections::rules::delete_keyword_rule)),
        moded(by_short_path(routes!(connections::rules::list_keyword_rules, connections::rules::add_keyword_rules))),
        moded(by_short_path(routes!(connections::rules::delete_keyword_rule))),
    ]
}

fn events() -> Vec<Route> {
    vec![
        moded(routes!(callback_secret::get_callback_secret)),
        moded(routes!(callback_secret::rotate_callback_secret)),
        moded(routes!(webhooks::list_webhooks, webhooks::create_webhook)),
        moded(routes!(webhooks::get_webhook, webhooks::patch_webhook, webhooks::delete_webhook)),
        moded(routes!(webhooks::rotate_webhook_secret)),
        moded(routes!(webhooks::deliveries::test_webhook)),
        moded(routes!(webhooks::deliveries::list_webhook_deliveries)),
        moded(routes!(webhooks::deliveries::get_webhook_delivery)),
        moded(routes!(webhooks::deliveries::redeliver)),
    ]
}

fn privacy() -> Vec<Route> {
    vec![moded(routes!(erasures::list_erasures, erasures::create_erasure)), moded(routes!(erasures::get_erasure))]
}

/// Builds the routes, each behind the guard that its annotation requires. The idempotency layer is inside the guard: only
/// authorized callers can use an `Idempotency-Key`.
pub(crate) fn api(app: &Arc<App>) -> Router {
    guarded(app, |methods, guard| methods.route_layer(from_fn_with_state(guard, auth::layer)))
}

/// Builds the same routes for the dashboard, with a session instead of a key.
pub(crate) fn api_of_pages(app: &Arc<App>) -> Router {
    guarded(app, |methods, guard| methods.route_layer(from_fn_with_state(guard, person::guard::api)))
}

fn guarded(app: &Arc<App>, behind: impl Fn(MethodRouter<Arc<App>>, RouteGuard) -> MethodRouter<Arc<App>>) -> Router {
    let guarded = |route: Route| {
        let Route { methods: (schemas, paths, methods), streams, grants, spends, is_never_slowed, has_modes } = route;
        let pace = if is_never_slowed { LimitChoice::AsAllowed } else { LimitChoice::AsWished };
        let guard = RouteGuard { app: app.clone(), needs: needs(&paths), pace, has_modes };
        let methods = match (streams, grants) {
            (true, _) => methods,
            (false, false) => methods.route_layer(from_fn_with_state(app.clone(), idempotency::layer)),
            (false, true) => methods.route_layer(from_fn_with_state(app.clone(), idempotency::layer_of_grants)),
        };
        let methods = behind(methods, guard);
        (schemas, paths, if spends { only_get(methods) } else { methods })
    };
    let routes = contents().map(guarded).fold(OpenApiRouter::new(), OpenApiRouter::routes);
    Router::from(routes).with_state(app.clone())
}

/// Builds the response under `/v1` and `/app` of a node that does not serve the API: 503, because the request only reached the
/// wrong node.
pub(crate) fn elsewhere() -> Router {
    let answer = any(async || {
        Refusal(
            ApiError::new(Code::ServiceUnavailable, "this node does not serve the API; use another node")
                .retry_after(1),
        )
    });
    ["/v1", "/v1/{*path}", "/app", "/app/{*path}"]
        .into_iter()
        .fold(Router::new(), |routes, path| routes.route(path, answer.clone()))
}

/// Returns the OpenAPI document of the annotations. Needs no running service.
pub(crate) fn described() -> OpenApi {
    contents().map(|route| route.methods).fold(OpenApiRouter::new(), OpenApiRouter::routes).into_openapi()
}

/// Returns each path, and whether its data belongs to one mode.
#[cfg(test)]
pub(crate) fn paths_with_modes() -> Vec<(String, bool)> {
    let paths = |route: Route| route.methods.1.paths.into_keys().map(move |path| (path, route.has_modes));
    contents().flat_map(paths).collect()
}

/// Returns the requirement of each method of a path.
///
/// # Panics
/// Panics if an annotation names an unknown scope. This is a programming error that every start reveals.
fn needs(paths: &Paths) -> Arc<[(Method, Need)]> {
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
