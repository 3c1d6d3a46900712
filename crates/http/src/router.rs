//! All routes of the API.
//!
//! A handler's annotation declares path, method and required scope (`security(("bearer" = ["verify"]))`; without a scope, any
//! key suffices). [`api`] derives the guard from the annotation, so the service enforces what the document promises, and no
//! route can lack a guard.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, any};
use probity_account::scope::Scope;
use probity_contract::error::{ApiError, Code};
use probity_service::app::App;
use probity_service::callers::admission::{LimitChoice, Need};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::api::webhooks::callback_secret;
use crate::api::{
    account, batch, check_key, connections, erasures, jobs, keys, organization, outcomes, reports, timeline, users,
    verify, webhooks,
};
use crate::callers::auth::RouteGuard;
use crate::callers::{auth, idempotency};
use crate::error::Refusal;
use crate::{openapi, person};

/// One path, and how its requests differ from those of other paths.
struct Route {
    methods: UtoipaMethodRouter<Arc<App>>,
    /// The handler reads the body itself, piece by piece, and sees to repetitions: the layer for them would hold the whole body.
    streams: bool,
    /// GET spends credits. HEAD is then no method of the path (RFC 9110 §15.5.6): its answer would have to be paid for.
    spends: bool,
    /// The organization's own limit does not slow these requests, because they are what raises it.
    is_never_slowed: bool,
}

fn plain(methods: UtoipaMethodRouter<Arc<App>>) -> Route {
    Route { methods, streams: false, spends: false, is_never_slowed: false }
}

/// Every route under a key, by path.
fn contents() -> impl Iterator<Item = Route> {
    let first = verification().into_iter().chain(account_and_keys()).chain(team()).chain(usage());
    first.chain(integrations()).chain(events()).chain(privacy())
}

fn verification() -> Vec<Route> {
    vec![
        Route { spends: true, ..plain(routes!(verify::verify_email)) },
        plain(routes!(check_key::check_key)),
        Route { streams: true, ..plain(routes!(batch::submit::submit_batch)) },
        plain(routes!(batch::status::get_batch_status)),
        plain(routes!(batch::results::get_batch_results)),
        plain(routes!(batch::results::get_batch_results_without_index)),
        plain(routes!(batch::download::download_batch)),
        plain(routes!(batch::cancel::cancel_batch)),
        plain(routes!(jobs::list_jobs)),
        plain(routes!(jobs::get_job)),
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
        plain(routes!(timeline::get_timeline)),
        plain(routes!(keys::list_api_keys, keys::create_api_key)),
        plain(routes!(keys::delete_api_key)),
    ]
}

fn team() -> Vec<Route> {
    vec![
        plain(routes!(users::list_users, users::invite_user)),
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
        plain(routes!(connections::changes::list_changes)),
        plain(routes!(connections::integrations::list_integrations)),
        plain(routes!(connections::integrations::get_integration)),
        plain(routes!(connections::connection::create_connection)),
        plain(routes!(
            connections::connection::get_connection,
            connections::connection::patch_connection,
            connections::connection::delete_connection
        )),
        plain(routes!(connections::connection::test_connection)),
        plain(routes!(connections::connection::list_connection_lists)),
        plain(routes!(connections::connection::get_connection_schedule)),
        plain(routes!(connections::runs::sync_connection)),
        plain(routes!(connections::runs::list_runs, connections::runs::start_run)),
        plain(routes!(connections::runs::get_run)),
        plain(routes!(connections::runs::confirm_run)),
        plain(routes!(connections::runs::cancel_run)),
        plain(routes!(connections::review::list_review)),
        plain(routes!(connections::review::decide_review)),
        plain(routes!(connections::rules::list_keyword_rules, connections::rules::add_keyword_rules)),
        plain(routes!(connections::rules::delete_keyword_rule)),
        plain(routes!(
            connections::rules::list_keyword_rules_by_short_path,
            connections::rules::add_keyword_rules_by_short_path
        )),
        plain(routes!(connections::rules::delete_keyword_rule_by_short_path)),
    ]
}

fn events() -> Vec<Route> {
    vec![
        plain(routes!(callback_secret::get_callback_secret)),
        plain(routes!(callback_secret::rotate_callback_secret)),
        plain(routes!(webhooks::list_webhooks, webhooks::create_webhook)),
        plain(routes!(webhooks::get_webhook, webhooks::patch_webhook, webhooks::delete_webhook)),
        plain(routes!(webhooks::rotate_webhook_secret)),
        plain(routes!(webhooks::deliveries::test_webhook)),
        plain(routes!(webhooks::deliveries::list_webhook_deliveries)),
        plain(routes!(webhooks::deliveries::get_webhook_delivery)),
        plain(routes!(webhooks::deliveries::redeliver)),
    ]
}

fn privacy() -> Vec<Route> {
    vec![plain(routes!(erasures::list_erasures, erasures::create_erasure)), plain(routes!(erasures::get_erasure))]
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
    let guarded = |Route { methods: (schemas, paths, methods), streams, spends, is_never_slowed }: Route| {
        let pace = if is_never_slowed { LimitChoice::AsAllowed } else { LimitChoice::AsWished };
        let guard = RouteGuard { app: app.clone(), needs: needs(&paths), pace };
        let methods =
            if streams { methods } else { methods.route_layer(from_fn_with_state(app.clone(), idempotency::layer)) };
        let mut methods = behind(methods, guard);
        if spends {
            let refused = async || ([(header::ALLOW, "GET")], Refusal(ApiError::method_not_allowed()));
            methods = methods.head(refused).fallback(refused);
        }
        (schemas, paths, methods)
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

/// Returns the requirement of each method of a path.
///
/// # Panics
/// Panics if an annotation names an unknown scope. This is a programming error that every start reveals.
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
