//! The widget that websites put beside their fields for addresses: its script, its checks, and the day's job that sums them up.
//!
//! Its key is public: it stands in pages that anybody can read. So it opens nothing but `/v1/widget/*`, the answers are coarse
//! ([`answer`]), and what it can spend is bounded four times over: by a nonce for each check that only the visitor who was given
//! it can use ([`nonce`]), by limits of the visitor, of the key and of all widgets of the organization together ([`entry`]), and by
//! credits a day ([`gate`]). All of these are counted by all nodes together. The check of the origin keeps other websites' visitors away; a program can
//! write any origin that it likes, and then meets the limits.
//!
//! Who has used up a limit, a day or an account gets the same 429: which of them it was is no visitor's business. The script
//! shows nothing then; a form is never held up.

pub(crate) mod answer;
pub(crate) mod checks;
mod entry;
pub(crate) mod gate;
pub(crate) mod nonce;
pub(crate) mod preview;
pub(crate) mod roll_up;

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::routing::{MethodRouter, get};
use tokio::sync::Semaphore;

use self::gate::Gate;
use crate::app::App;
use crate::error::ApiError;

/// The source of what the widget verifies, in usage and jobs.
pub(crate) const SOURCE: &str = "widget";
/// Checks at the same time on one node; more are refused. They wait for mail servers, and live calls must find room beside them.
const AT_ONCE: usize = 256;

/// What an operator decides about the widget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidgetConfig {
    /// Requests a minute of one visitor to one key; an IPv6 network of /64 is one visitor.
    pub visitor_per_minute: u32,
    /// Requests a minute with a `pub` key that has no limit of its own.
    pub key_per_minute: u32,
    /// Credits a day (UTC) that a `pub` key may spend which has no cap of its own.
    pub daily_cap: i64,
}

impl Default for WidgetConfig {
    fn default() -> Self {
        Self { visitor_per_minute: 60, key_per_minute: 1_200, daily_cap: 1_000 }
    }
}

/// What all checks share.
pub(crate) struct Widget {
    pub(crate) config: WidgetConfig,
    gate: Gate,
    places: Semaphore,
}

impl Widget {
    pub(crate) fn new(config: WidgetConfig, gate: Gate) -> Self {
        Self { config, gate, places: Semaphore::new(AT_ONCE) }
    }
}

/// `/v1/widget/nonce` and `/v1/widget/verify`. HEAD is no method of theirs: there is nothing to know of an answer before it is
/// paid for (RFC 9110, section 15.5.6).
pub(crate) fn routes(app: &Arc<App>) -> Router {
    let only_get = |methods: MethodRouter<Arc<App>>| {
        let refused = async || ([(header::ALLOW, "GET")], ApiError::method_not_allowed());
        methods.head(refused).fallback(refused)
    };
    Router::new()
        .route("/v1/widget/nonce", only_get(get(checks::nonce)))
        .route("/v1/widget/verify", only_get(get(checks::verify)))
        .with_state(app.clone())
}
