//! Every route of the dashboard's pages: the table of contents, and what each asks for.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use probity_account::scope::Scope;
use probity_service::app::App;

use crate::dashboard::{
    changes, egress, events, first_steps, keys, lists, lookup, progress, providers, requests, rows, rules, trial,
    uploads,
};
use crate::person::guard;
use crate::person::guard::PageGuard;
use crate::person::{links, own, second_factor, sessions, sign_in, sso};
use crate::router;
use crate::widget::preview;

pub use crate::person::guard::PageAccess;

/// Where a list is watched.
const EVENTS: &str = "/app/jobs/{id}/events";

/// A route: method, path, what it asks for. The routes of the API lie beside them, under `/app/v1`.
pub const ROUTES: [(&str, &str, PageAccess); 58] = [
    ("GET", "/app/sign-in", PageAccess::Anybody),
    ("POST", "/app/sign-in", PageAccess::Anybody),
    ("POST", "/app/forgotten-password", PageAccess::Anybody),
    ("POST", "/app/sign-out", PageAccess::Session),
    ("GET", "/app/link", PageAccess::Anybody),
    ("POST", "/app/link", PageAccess::Anybody),
    ("GET", "/app/session", PageAccess::Session),
    ("GET", "/app/sessions", PageAccess::Running),
    ("DELETE", "/app/sessions", PageAccess::Running),
    ("DELETE", "/app/sessions/{id}", PageAccess::Running),
    ("PATCH", "/app/account", PageAccess::Running),
    ("POST", "/app/password", PageAccess::Running),
    ("POST", "/app/second-factor", PageAccess::Running),
    ("DELETE", "/app/second-factor", PageAccess::Running),
    ("POST", "/app/second-factor/confirm", PageAccess::Running),
    ("GET", "/app/sso", PageAccess::Administrator),
    ("PUT", "/app/sso", PageAccess::Administrator),
    ("DELETE", "/app/sso", PageAccess::Administrator),
    ("POST", "/app/sso/test", PageAccess::Administrator),
    ("POST", "/app/sso/domains", PageAccess::Administrator),
    ("POST", "/app/sso/sign-in", PageAccess::Anybody),
    ("GET", "/app/sso/callback", PageAccess::Anybody),
    ("GET", EVENTS, PageAccess::May(Scope::ReadJobs)),
    ("GET", "/app/jobs/{id}/progress", PageAccess::May(Scope::ReadJobs)),
    ("GET", "/app/jobs/{id}/rows", PageAccess::May(Scope::ReadJobs)),
    ("GET", "/app/jobs/{id}/domains", PageAccess::May(Scope::ReadJobs)),
    ("PATCH", "/app/jobs/{id}", PageAccess::May(Scope::WriteJobs)),
    ("DELETE", "/app/jobs/{id}", PageAccess::May(Scope::WriteJobs)),
    ("POST", "/app/jobs/{id}/finish", PageAccess::May(Scope::WriteJobs)),
    ("POST", "/app/jobs/{id}/verify-unknown", PageAccess::May(Scope::WriteJobs)),
    ("GET", "/app/jobs/{id}/mail", PageAccess::May(Scope::ReadJobs)),
    ("PUT", "/app/jobs/{id}/mail", PageAccess::May(Scope::ReadJobs)),
    ("DELETE", "/app/jobs/{id}/mail", PageAccess::May(Scope::ReadJobs)),
    ("GET", "/app/jobs/{id}/link", PageAccess::May(Scope::ReadJobs)),
    ("POST", "/app/jobs/{id}/link", PageAccess::May(Scope::WriteJobs)),
    ("DELETE", "/app/jobs/{id}/link", PageAccess::May(Scope::WriteJobs)),
    ("GET", "/app/shared", PageAccess::Anybody),
    ("GET", "/app/lists", PageAccess::May(Scope::ReadJobs)),
    ("GET", "/app/lookup", PageAccess::May(Scope::ReadJobs)),
    ("GET", "/app/reports/providers", PageAccess::May(Scope::ReadReports)),
    ("POST", "/app/settings/trial", PageAccess::May(Scope::ReadJobs)),
    ("POST", "/app/connections/{type}/{id}/rules/trial", PageAccess::May(Scope::ReadIntegrations)),
    ("GET", "/app/requests", PageAccess::May(Scope::ReadAccount)),
    ("GET", "/app/egress", PageAccess::Running),
    ("GET", "/app/first-steps", PageAccess::Running),
    ("GET", "/app/changes", PageAccess::Running),
    ("GET", "/app/changes/counts", PageAccess::May(Scope::ReadJobs)),
    ("PATCH", "/app/keys/{id}", PageAccess::May(Scope::WriteKeys)),
    ("POST", "/app/keys/{id}/rotate", PageAccess::May(Scope::WriteKeys)),
    ("PATCH", "/app/organization", PageAccess::Administrator),
    ("GET", "/app/widget/preview", PageAccess::Running),
    ("GET", "/app/uploads", PageAccess::May(Scope::ReadJobs)),
    ("POST", "/app/uploads", PageAccess::May(Scope::WriteJobs)),
    ("GET", "/app/uploads/{id}", PageAccess::May(Scope::ReadJobs)),
    ("PATCH", "/app/uploads/{id}", PageAccess::May(Scope::WriteJobs)),
    ("DELETE", "/app/uploads/{id}", PageAccess::May(Scope::WriteJobs)),
    ("GET", "/app/uploads/{id}/forecast", PageAccess::May(Scope::ReadJobs)),
    ("POST", "/app/uploads/{id}/start", PageAccess::May(Scope::WriteJobs)),
];

/// Who answers a route of the table.
///
/// # Panics
/// Where nobody does: a mistake in the program, found at the first start.
fn handler(method: &str, path: &str) -> MethodRouter<Arc<App>> {
    match (method, path) {
        ("GET", "/app/sign-in") => get(sign_in::get_options),
        ("POST", "/app/sign-in") => post(sign_in::sign_in),
        ("POST", "/app/forgotten-password") => post(sign_in::ask_for_link),
        ("POST", "/app/sign-out") => post(sign_in::sign_out),
        ("GET", "/app/link") => get(links::get_link),
        ("POST", "/app/link") => post(links::redeem_link),
        ("GET", "/app/session") => get(sessions::get_session),
        ("GET", "/app/sessions") => get(sessions::list_sessions),
        ("DELETE", "/app/sessions") => delete(sessions::delete_other_sessions),
        ("DELETE", "/app/sessions/{id}") => delete(sessions::delete_session),
        ("PATCH", "/app/account") => patch(own::change),
        ("POST", "/app/password") => post(sessions::change_password),
        ("POST", "/app/second-factor") => post(second_factor::begin_second_factor),
        ("DELETE", "/app/second-factor") => delete(second_factor::delete_second_factor),
        ("POST", "/app/second-factor/confirm") => post(second_factor::confirm_second_factor),
        ("GET", "/app/sso") => get(sso::get_sso),
        ("PUT", "/app/sso") => put(sso::set_sso),
        ("DELETE", "/app/sso") => delete(sso::delete_sso),
        ("POST", "/app/sso/test") => post(sso::test_sso),
        ("POST", "/app/sso/domains") => post(sso::prove_domain),
        ("POST", "/app/sso/sign-in") => post(sso::begin_sso),
        ("GET", "/app/sso/callback") => get(sso::finish_sso),
        ("GET", EVENTS) => get(events::get_events),
        ("GET", "/app/jobs/{id}/progress") => get(progress::get_progress),
        ("GET", "/app/jobs/{id}/rows") => get(rows::get_rows),
        ("GET", "/app/jobs/{id}/domains") => get(lists::get_domains),
        ("PATCH", "/app/jobs/{id}") => patch(lists::patch_list),
        ("DELETE", "/app/jobs/{id}") => delete(lists::delete_list),
        ("POST", "/app/jobs/{id}/finish") => post(lists::finish),
        ("POST", "/app/jobs/{id}/verify-unknown") => post(lists::verify_unknown),
        ("GET", "/app/jobs/{id}/mail") => get(lists::get_mail),
        ("PUT", "/app/jobs/{id}/mail") => put(lists::ask_for_mail),
        ("DELETE", "/app/jobs/{id}/mail") => delete(lists::cancel_mail),
        ("GET", "/app/jobs/{id}/link") => get(lists::get_link),
        ("POST", "/app/jobs/{id}/link") => post(lists::create_link),
        ("DELETE", "/app/jobs/{id}/link") => delete(lists::revoke_link),
        ("GET", "/app/shared") => get(lists::get_shared),
        ("GET", "/app/lists") => get(lists::list_lists),
        ("GET", "/app/lookup") => get(lookup::get_places),
        ("GET", "/app/reports/providers") => get(providers::get_mix),
        ("POST", "/app/settings/trial") => post(trial::try_settings),
        ("POST", "/app/connections/{type}/{id}/rules/trial") => post(rules::try_rules),
        ("GET", "/app/requests") => get(requests::list_requests),
        ("GET", "/app/egress") => get(egress::get_ways),
        ("GET", "/app/first-steps") => get(first_steps::get_steps),
        ("GET", "/app/changes") => get(changes::get_changes),
        ("GET", "/app/changes/counts") => get(changes::get_counts),
        ("PATCH", "/app/keys/{id}") => patch(keys::patch_key),
        ("POST", "/app/keys/{id}/rotate") => post(keys::rotate_key),
        ("PATCH", "/app/organization") => patch(first_steps::patch_organization),
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

/// The routes, each behind its guard; and those of the API behind the guard of sessions.
pub(crate) fn pages(app: &Arc<App>) -> Router {
    let own = ROUTES.into_iter().fold(Router::new(), |routes, (method, path, access)| {
        let guard = PageGuard { app: app.clone(), access };
        routes.route(path, handler(method, path).route_layer(from_fn_with_state(guard, guard::page)))
    });
    own.with_state(app.clone()).nest("/app", router::api_of_pages(app))
}
