//! Every route of the API: the table of contents.
//!
//! A handler's annotation says its path, its method and the scope that it needs (`security(("bearer" = ["verify"]))`; no
//! scope means any key). [`Api::add`] reads that annotation for the guard, so what the document promises is what is enforced,
//! and a route without a guard cannot be added.

use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use probity_core::scope::Scope;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::api::{api_keys, check_key, organization, verify};
use crate::app::App;
use crate::auth::{self, Guard, Need};
use crate::{idempotency, openapi};

/// The routes under a key, and what the annotations say of them.
pub(crate) fn api(app: &Arc<App>) -> (Router, OpenApi) {
    let api = Api::new(app)
        // Verification
        .add(routes!(verify::verify_email))
        .add(routes!(check_key::check_key))
        // Account
        .add(routes!(organization::get_organization))
        .add(routes!(api_keys::list_api_keys, api_keys::create_api_key))
        .add(routes!(api_keys::delete_api_key));
    let (router, document) = api.routes.split_for_parts();
    (router.with_state(app.clone()), document)
}

struct Api {
    app: Arc<App>,
    routes: OpenApiRouter<Arc<App>>,
}

impl Api {
    fn new(app: &Arc<App>) -> Self {
        Self { app: app.clone(), routes: OpenApiRouter::new() }
    }

    /// Adds the routes of one path, each behind the guard that its annotation asks for. Repeatable POSTs are within: only a
    /// caller who may can use an `Idempotency-Key`.
    fn add(mut self, (schemas, paths, methods): UtoipaMethodRouter<Arc<App>>) -> Self {
        let guard = Guard { app: self.app.clone(), needs: needs(&paths) };
        let methods = methods
            .route_layer(from_fn_with_state(self.app.clone(), idempotency::layer))
            .route_layer(from_fn_with_state(guard, auth::layer));
        self.routes = self.routes.routes((schemas, paths, methods));
        self
    }
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
