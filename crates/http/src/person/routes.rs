//! All routes of the dashboard's pages, with their requirements.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use probity_account::scope::Scope;
use probity_service::app::App;

use crate::dashboard::{changes, events, lists, organization, uploads};
use crate::person::guard;
use crate::person::guard::PageGuard;
use crate::person::{links, own, second_factor, sessions, sign_in, sso};
use crate::router;
use crate::widget::checks;

pub use crate::person::guard::PageAccess;
use PageAccess::{Administrator, Anybody, May, Running, Session};

/// Route of the dashboard's pages.
pub struct PageRoute {
    pub method: &'static str,
    pub path: &'static str,
    pub access: PageAccess,
    /// Whether the data belongs to one mode, live or test.
    has_modes: bool,
    handler: MethodRouter<Arc<App>>,
}

fn row<H, T>(method: &'static str, path: &'static str, access: PageAccess, handler: H) -> PageRoute
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    let named = Method::from_bytes(method.as_bytes()).expect("names of methods are tokens");
    let filter = MethodFilter::try_from(named).expect("the router knows the method");
    PageRoute { method, path, access, has_modes: false, handler: on(filter, handler) }
}

/// Returns every route; those of the API are beside them, under `/app/v1`.
pub fn routes() -> impl Iterator<Item = PageRoute> {
    let moded = of_one_mode().into_iter().map(|route| PageRoute { has_modes: true, ..route });
    of_organization().into_iter().chain(moded)
}

/// Returns routes whose data belongs to the organization or the member, in both modes.
fn of_organization() -> Vec<PageRoute> {
    vec![
        row("GET", "/app/sign-in", Anybody, sign_in::get_options),
        row("POST", "/app/sign-in", Anybody, sign_in::sign_in),
        row("POST", "/app/forgotten-password", Anybody, sign_in::ask_for_link),
        row("POST", "/app/sign-out", Session, sign_in::sign_out),
        row("GET", "/app/link", Anybody, links::get_link),
        row("POST", "/app/link", Anybody, links::redeem_link),
        row("GET", "/app/session", Session, sessions::get_session),
        row("GET", "/app/sessions", Running, sessions::list_sessions),
        row("DELETE", "/app/sessions", Running, sessions::delete_other_sessions),
        row("DELETE", "/app/sessions/{id}", Running, sessions::delete_session),
        row("PATCH", "/app/account", Running, own::change),
        row("POST", "/app/password", Running, sessions::change_password),
        row("POST", "/app/second-factor", Running, second_factor::begin_second_factor),
        row("DELETE", "/app/second-factor", Running, second_factor::delete_second_factor),
        row("POST", "/app/second-factor/confirm", Running, second_factor::confirm_second_factor),
        row("GET", "/app/sso", Administrator, sso::get_sso),
        row("PUT", "/app/sso", Administrator, sso::set_sso),
        row("DELETE", "/app/sso", Administrator, sso::delete_sso),
        row("POST", "/app/sso/test", Administrator, sso::test_sso),
        row("POST", "/app/sso/domains", Administrator, sso::prove_domain),
        row("POST", "/app/sso/sign-in", Anybody, sso::begin_sso),
        row("GET", "/app/sso/callback", Anybody, sso::finish_sso),
        row("GET", "/app/shared", Anybody, lists::get_shared),
        row("GET", "/app/reports/providers", May(Scope::ReadReports), organization::get_providers),
        row("POST", "/app/settings/trial", May(Scope::ReadJobs), organization::try_settings),
        row("GET", "/app/egress", Running, organization::get_ways),
        row("POST", "/app/egress", Administrator, organization::check_again),
        row("GET", "/app/first-steps", Running, organization::get_steps),
        row("GET", "/app/users/last-uses", May(Scope::ReadTeam), organization::get_last_uses),
        row("PATCH", "/app/keys/{id}", May(Scope::WriteKeys), organization::patch_key),
        row("POST", "/app/keys/{id}/rotate", May(Scope::WriteKeys), organization::rotate_key),
        row("PATCH", "/app/organization", Administrator, organization::name_it),
        row("GET", "/app/widget/preview", Running, checks::preview),
    ]
}

/// Returns routes whose data belongs to one mode, live or test.
fn of_one_mode() -> Vec<PageRoute> {
    vec![
        row("GET", "/app/jobs/{id}/events", May(Scope::ReadJobs), events::get_events),
        row("GET", "/app/jobs/{id}/progress", May(Scope::ReadJobs), lists::get_progress),
        row("GET", "/app/jobs/{id}/rows", May(Scope::ReadJobs), lists::get_rows),
        row("GET", "/app/jobs/{id}/rows/count", May(Scope::ReadJobs), lists::count_matches),
        row("GET", "/app/jobs/{id}/rows/{index}/origin", May(Scope::ReadJobs), lists::get_origin),
        row("GET", "/app/jobs/{id}/domains", May(Scope::ReadJobs), lists::get_domains),
        row("PATCH", "/app/jobs/{id}", May(Scope::WriteJobs), lists::patch_list),
        row("DELETE", "/app/jobs/{id}", May(Scope::WriteJobs), lists::delete_list),
        row("POST", "/app/jobs/{id}/finish", May(Scope::WriteJobs), lists::finish),
        row("POST", "/app/jobs/{id}/verify-unknown", May(Scope::WriteJobs), lists::verify_unknown),
        row("GET", "/app/jobs/{id}/mail", May(Scope::ReadJobs), lists::get_mail),
        row("PUT", "/app/jobs/{id}/mail", May(Scope::ReadJobs), lists::ask_for_mail),
        row("DELETE", "/app/jobs/{id}/mail", May(Scope::ReadJobs), lists::cancel_mail),
        row("GET", "/app/jobs/{id}/link", May(Scope::ReadJobs), lists::get_link),
        row("POST", "/app/jobs/{id}/link", May(Scope::WriteJobs), lists::create_link),
        row("DELETE", "/app/jobs/{id}/link", May(Scope::WriteJobs), lists::revoke_link),
        row("GET", "/app/lists", May(Scope::ReadJobs), lists::list_lists),
        row("GET", "/app/lookup", May(Scope::ReadJobs), organization::get_places),
        row("POST", "/app/erasures/traces", May(Scope::WriteErasures), organization::find_traces),
        row("POST", "/app/connections/{type}/{id}/rules/trial", May(Scope::ReadIntegrations), organization::try_rules),
        row("GET", "/app/webhooks/{id}/hours", May(Scope::ReadWebhooks), organization::get_hours),
        row("GET", "/app/requests", May(Scope::ReadAccount), organization::list_requests),
        row("GET", "/app/changes", Running, changes::get_changes),
        row("GET", "/app/changes/counts", May(Scope::ReadJobs), changes::get_counts),
        row("GET", "/app/uploads", May(Scope::ReadJobs), uploads::list_uploads),
        row("POST", "/app/uploads", May(Scope::WriteJobs), uploads::put_up),
        row("GET", "/app/uploads/{id}", May(Scope::ReadJobs), uploads::get_upload),
        row("PATCH", "/app/uploads/{id}", May(Scope::WriteJobs), uploads::choose),
        row("DELETE", "/app/uploads/{id}", May(Scope::WriteJobs), uploads::delete_upload),
        row("GET", "/app/uploads/{id}/forecast", May(Scope::ReadJobs), uploads::get_forecast),
        row("POST", "/app/uploads/{id}/start", May(Scope::WriteJobs), uploads::start),
    ]
}

/// Builds the routes, each behind its guard, with those of the API behind the guard of sessions.
pub(crate) fn pages(app: &Arc<App>) -> Router {
    let own = routes().fold(Router::new(), |router, route| {
        let guard = PageGuard { app: app.clone(), access: route.access, has_modes: route.has_modes };
        router.route(route.path, route.handler.route_layer(from_fn_with_state(guard, guard::page)))
    });
    own.with_state(app.clone()).nest("/app", router::api_of_pages(app))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// If a page treats a route as one without a mode, it gets live data in test mode.
    #[test]
    fn pages_know_which_paths_are_of_one_mode() {
        let page = include_str!("../../../../web/app/mode.js");
        let names = page.split_once(r"const SORTED = /^(\/app)?\/(").unwrap().1.split_once(r")(\/|$)/;").unwrap().0;
        let names = names.replace(r"\/", "/");
        let own = routes().map(|route| (route.path.to_owned(), route.has_modes));
        let mut unused: BTreeSet<&str> = names.split('|').collect();
        for (path, has_modes) in own.chain(router::paths_with_modes()) {
            let path = path.trim_start_matches("/app/").trim_start_matches("/v1/");
            let found = names.split('|').find(|name| format!("{path}/").starts_with(&format!("{name}/")));
            assert_eq!(found.is_some(), has_modes, "{path}");
            unused.remove(found.unwrap_or_default());
        }
        assert!(unused.is_empty(), "no path starts with {unused:?}");
    }
}
