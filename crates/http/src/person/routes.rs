//! Every route of the dashboard's pages: the table of contents, and what each asks for.

use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, patch, post};
use probity_account::scope::Scope;
use probity_service::app::App;

use crate::auth::{Caller, Guard, Need, Pace};
use crate::dashboard::{egress, events, lookup, progress, providers, rows, trial};
use crate::desk;
use crate::person::guard;
use crate::person::guard::PageGuard;
use crate::person::{links, own, second_factor, sessions, sign_in};
use crate::router;
use crate::uploads::routes as uploads;
use crate::widget::preview;

pub use crate::person::guard::Access;

/// Where a list is watched.
const EVENTS: &str = "/app/jobs/{id}/events";

/// A route: method, path, what it asks for. The routes of the API lie beside them, under `/app/v1`.
pub const ROUTES: [(&str, &str, Access); 28] = [
    ("POST", "/app/sign-in", Access::Anybody),
    ("POST", "/app/sign-out", Access::Session),
    ("GET", "/app/link", Access::Anybody),
    ("POST", "/app/link", Access::Anybody),
    ("GET", "/app/session", Access::Session),
    ("GET", "/app/sessions", Access::Running),
    ("DELETE", "/app/sessions", Access::Running),
    ("DELETE", "/app/sessions/{id}", Access::Running),
    ("PATCH", "/app/account", Access::Running),
    ("POST", "/app/password", Access::Running),
    ("POST", "/app/second-factor", Access::Running),
    ("DELETE", "/app/second-factor", Access::Running),
    ("POST", "/app/second-factor/confirm", Access::Running),
    ("GET", EVENTS, Access::May(Scope::ReadJobs)),
    ("GET", "/app/jobs/{id}/progress", Access::May(Scope::ReadJobs)),
    ("GET", "/app/jobs/{id}/rows", Access::May(Scope::ReadJobs)),
    ("GET", "/app/lookup", Access::May(Scope::ReadJobs)),
    ("GET", "/app/reports/providers", Access::May(Scope::ReadReports)),
    ("POST", "/app/settings/trial", Access::May(Scope::ReadJobs)),
    ("GET", "/app/egress", Access::Administrator),
    ("GET", "/app/widget/preview", Access::Running),
    ("GET", "/app/uploads", Access::May(Scope::ReadJobs)),
    ("POST", "/app/uploads", Access::May(Scope::WriteJobs)),
    ("GET", "/app/uploads/{id}", Access::May(Scope::ReadJobs)),
    ("PATCH", "/app/uploads/{id}", Access::May(Scope::WriteJobs)),
    ("DELETE", "/app/uploads/{id}", Access::May(Scope::WriteJobs)),
    ("GET", "/app/uploads/{id}/forecast", Access::May(Scope::ReadJobs)),
    ("POST", "/app/uploads/{id}/start", Access::May(Scope::WriteJobs)),
];

/// Who answers a route of the table.
///
/// # Panics
/// Where nobody does: a mistake in the program, found at the first start.
fn handler(method: &str, path: &str) -> MethodRouter<Arc<App>> {
    match (method, path) {
        ("POST", "/app/sign-in") => post(sign_in::sign_in),
        ("POST", "/app/sign-out") => post(sign_in::sign_out),
        ("GET", "/app/link") => get(links::look),
        ("POST", "/app/link") => post(links::redeem),
        ("GET", "/app/session") => get(sessions::get_session),
        ("GET", "/app/sessions") => get(sessions::list_sessions),
        ("DELETE", "/app/sessions") => delete(sessions::delete_other_sessions),
        ("DELETE", "/app/sessions/{id}") => delete(sessions::delete_session),
        ("PATCH", "/app/account") => patch(own::change),
        ("POST", "/app/password") => post(sessions::change_password),
        ("POST", "/app/second-factor") => post(second_factor::begin),
        ("DELETE", "/app/second-factor") => delete(second_factor::remove),
        ("POST", "/app/second-factor/confirm") => post(second_factor::confirm),
        ("GET", EVENTS) => get(events::get_events),
        ("GET", "/app/jobs/{id}/progress") => get(progress::get_progress),
        ("GET", "/app/jobs/{id}/rows") => get(rows::get_rows),
        ("GET", "/app/lookup") => get(lookup::get_places),
        ("GET", "/app/reports/providers") => get(providers::get_mix),
        ("POST", "/app/settings/trial") => post(trial::try_settings),
        ("GET", "/app/egress") => get(egress::get_ways),
        ("GET", "/app/widget/preview") => get(preview::preview),
        ("GET", "/app/uploads") => get(uploads::list_uploads),
        ("POST", "/app/uploads") => post(uploads::put_up),
        ("GET", "/app/uploads/{id}") => get(uploads::get_upload),
        ("PATCH", "/app/uploads/{id}") => patch(uploads::choose),
        ("DELETE", "/app/uploads/{id}") => delete(uploads::delete_upload),
        ("GET", "/app/uploads/{id}/forecast") => get(uploads::get_forecast),
        ("POST", "/app/uploads/{id}/start") => post(uploads::start),
        _ => panic!("nobody answers {method} {path}"),
    }
}

/// The routes that show and change what an organization has, and are about nobody's session, for whoever runs the installation.
pub(crate) fn pages_of_desk(app: &Arc<App>, caller: &Caller) -> Router {
    let own = ROUTES.into_iter().filter_map(|(method, path, access)| match access {
        // Progress can be asked for; a stream goes on as long as a session does.
        Access::May(scope) if path != EVENTS => Some((method, path, scope)),
        _ => None,
    });
    let routes = own.fold(Router::new(), |routes, (method, path, scope)| {
        let name = Method::from_bytes(method.as_bytes()).expect("names of methods are tokens");
        let needs = Arc::new([(name, Need::Scope(scope))]);
        let guard = Guard { app: app.clone(), needs, pace: Pace::AsAllowed };
        let clerk = desk::Clerk { guard, caller: caller.clone() };
        routes.route(path, handler(method, path).route_layer(from_fn_with_state(clerk, desk::guard)))
    });
    routes.with_state(app.clone())
}

/// The routes, each behind its guard; and those of the API behind the guard of sessions.
pub(crate) fn pages(app: &Arc<App>) -> Router {
    let own = ROUTES.into_iter().fold(Router::new(), |routes, (method, path, access)| {
        let guard = PageGuard { app: app.clone(), access };
        routes.route(path, handler(method, path).route_layer(from_fn_with_state(guard, guard::page)))
    });
    own.with_state(app.clone()).nest("/app", router::api_of_pages(app))
}
