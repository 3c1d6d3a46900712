//! `POST /hooks/outcomes/{id}/{secret}`: events of sending services. The URL and the signature are the proof; there is no key.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Extension, Json, Router};
use probity_contract::error::{ApiError, Code};
use probity_service::app::App;
use probity_service::outcomes::sources::{PostedEvents, take_events};
use serde_json::{Value, json};

use crate::handler::{Answer, AppState, Refusal};
use crate::request::body::{BodyLimit, RawBody};

/// Maximum size of a body, in bytes: `SendGrid` posts up to 768 KiB.
const BODY_MAX: usize = 1 << 20;

pub(crate) fn routes(app: &Arc<App>) -> Router {
    let methods = post(take).fallback(async || Refusal(ApiError::of(Code::MethodNotAllowed)));
    Router::new()
        .route("/hooks/outcomes/{id}/{secret}", methods)
        .layer(Extension(BodyLimit(BODY_MAX)))
        .layer(DefaultBodyLimit::disable())
        .with_state(app.clone())
}

async fn take(
    State(app): AppState,
    Path((id, secret)): Path<(String, String)>,
    headers: HeaderMap,
    RawBody(raw): RawBody,
) -> Answer<Value> {
    let id = id.parse().map_err(|_| ApiError::not_found())?;
    let readable = headers.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let headers: HashMap<String, String> = readable.collect();
    take_events(&app, PostedEvents { id, secret: &secret, raw: &raw, headers }).await?;
    Ok(Json(json!({})))
}
