//! Every route of the dashboard's pages: the table of contents, and what each asks for.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post};

use crate::app::App;
use crate::person::guard::{self, PageGuard};
use crate::person::{links, second_factor, sessions, sign_in};
use crate::router;

pub use crate::person::guard::Access;

/// A route: method, path, what it asks for. The routes of the API lie beside them, under `/app/v1`.
pub const ROUTES: [(&str, &str, Access); 12] = [
    ("POST", "/app/sign-in", Access::Anybody),
    ("POST", "/app/sign-out", Access::Session),
    ("GET", "/app/link", Access::Anybody),
    ("POST", "/app/link", Access::Anybody),
    ("GET", "/app/session", Access::Session),
    ("GET", "/app/sessions", Access::Running),
    ("DELETE", "/app/sessions", Access::Running),
    ("DELETE", "/app/sessions/{id}", Access::Running),
    ("POST", "/app/password", Access::Running),
    ("POST", "/app/second-factor", Access::Running),
    ("DELETE", "/app/second-factor", Access::Running),
    ("POST", "/app/second-factor/confirm", Access::Running),
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
        ("POST", "/app/password") => post(sessions::change_password),
        ("POST", "/app/second-factor") => post(second_factor::begin),
        ("DELETE", "/app/second-factor") => delete(second_factor::remove),
        ("POST", "/app/second-factor/confirm") => post(second_factor::confirm),
        _ => panic!("nobody answers {method} {path}"),
    }
}

/// The routes, each behind its guard; and those of the API behind the guard of sessions.
pub(crate) fn pages(app: &Arc<App>) -> Router {
    let own = ROUTES.into_iter().fold(Router::new(), |routes, (method, path, access)| {
        let guard = PageGuard { app: app.clone(), access };
        routes.route(path, handler(method, path).route_layer(from_fn_with_state(guard, guard::page)))
    });
    own.with_state(app.clone()).nest("/app", router::api_of_pages(app))
}
