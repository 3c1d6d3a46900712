//! The widget that websites add to their address fields: its script and its checks.
//!
//! Its key is public, in pages that anyone can read. So it gives access to `/v1/widget/*` only, responses are coarse
//! ([`answer`](probity_backend::widget::answer)), and its spending has four limits, all shared by the nodes:
//!
//! - a nonce per check that only its own visitor can use ([`nonce`](probity_backend::widget::nonce)),
//! - rate limits of the visitor, of the key and of all widgets of the organization ([`entry`](probity_service::widget::entry)),
//! - credits per day ([`gate`](probity_backend::widget::gate)).
//!
//! The origin check excludes visitors of other websites; a program can send any origin, and then meets the limits. Every used-up
//! limit, day or account gets the same 429, which does not reveal the cause to visitors. The script then shows nothing and never
//! blocks a form.

pub(crate) mod checks;
mod entry;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use probity_service::app::App;

use crate::handler::only_get;

/// Builds `/v1/widget/nonce` and `/v1/widget/verify`.
pub(crate) fn routes(app: &Arc<App>) -> Router {
    Router::new()
        .route("/v1/widget/nonce", only_get(get(checks::nonce)))
        .route("/v1/widget/verify", only_get(get(checks::verify)))
        .with_state(app.clone())
}
