//! `POST /hooks/{connection}/{secret}`: events of email platforms. The URL and the proof identify the caller; there is no key.
//!
//! `GET` is for platforms that check whether the URL exists before they register it.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequest as _, Path, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use probity_account::id::ConnId;
use probity_backend::connections::hooks::HookCall;
use probity_contract::error::{ApiError, Code};
use probity_service::app::App;
use probity_service::connections::hooks::{find_hook, take_event};
use serde_json::json;

use crate::handler::{AppState, Refusal};
use crate::request::body::{BodyLimit, RawBody};

/// Maximum size of a body, in bytes.
const BODY_MAX: usize = 64 << 10;

pub(crate) fn routes(app: &Arc<App>) -> Router {
    let methods = post(take).get(look).fallback(async || Refusal(ApiError::of(Code::MethodNotAllowed)));
    Router::new()
        .route("/hooks/{connection}/{secret}", methods)
        .layer(Extension(BodyLimit(BODY_MAX)))
        .layer(DefaultBodyLimit::disable())
        .with_state(app.clone())
}

async fn look(State(app): AppState, Path((connection, secret)): Path<(String, String)>) -> Result<Response, Refusal> {
    find_hook(&app, id(&connection)?, &secret).await?;
    Ok(Json(json!({})).into_response())
}

async fn take(
    State(app): AppState,
    Path((connection, secret)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let id = id(&connection)?;
    // Comes before the body is read.
    find_hook(&app, id, &secret).await?;
    let readable =
        request.headers().iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let headers: Vec<(String, String)> = readable.collect();
    let RawBody(raw) = RawBody::from_request(request, &()).await?;
    let call = HookCall { secret: &secret, headers: &headers, raw: &raw };
    let wanted = take_event(&app, id, &call).await?;
    let mut response = Json(json!({})).into_response();
    let header =
        wanted.and_then(|(name, value)| Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?)));
    response.headers_mut().extend(header);
    Ok(response)
}

fn id(text: &str) -> Result<ConnId, ApiError> {
    text.parse().map_err(|_| ApiError::not_found())
}
