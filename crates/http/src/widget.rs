//! The widget that websites put beside their fields for addresses: its script and its checks.
//!
//! Its key is public: it stands in pages that anybody can read. So it opens nothing but `/v1/widget/*`, the answers are coarse
//! ([`answer`](probity_backend::widget::answer)), and what it can spend is bounded four times over: by a nonce for each check
//! that only the visitor who was given it can use ([`nonce`](probity_backend::widget::nonce)), by limits of the visitor, of the
//! key and of all widgets of the organization together ([`entry`](probity_service::widget::entry)), and by credits a day
//! ([`gate`](probity_backend::widget::gate)). All of these are counted by all nodes together. The check of the origin keeps other
//! websites' visitors away; a program can write any origin that it likes, and then meets the limits.
//!
//! Who has used up a limit, a day or an account gets the same 429: which of them it was is no visitor's business. The script
//! shows nothing then; a form is never held up.

pub(crate) mod checks;
mod entry;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use probity_service::app::App;

use crate::handler::only_get;

/// `/v1/widget/nonce` and `/v1/widget/verify`.
pub(crate) fn routes(app: &Arc<App>) -> Router {
    Router::new()
        .route("/v1/widget/nonce", only_get(get(checks::nonce)))
        .route("/v1/widget/verify", only_get(get(checks::verify)))
        .with_state(app.clone())
}
