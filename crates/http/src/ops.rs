//! What an operator asks the service: is it alive, is it ready, what is it doing.
//!
//! `/healthz`, `/readyz` and `/metrics` stand beside the API, without a key. Liveness touches nothing: a process that answers is
//! alive, and restarting it would not bring a database back. Readiness asks the parts that every request needs, and is cached,
//! so that
//! nobody can load the database through it. The metrics are for their readers only ([`Readers`]).

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{FromRef, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use probity_service::error::{ApiError, Code};
use probity_service::ops::health::Readiness;
use probity_service::ops::metrics::{Access, Form, Metrics, Observed, Readers};
use serde::Serialize;

use crate::error::Refusal;
use crate::peer::Peer;

/// What the routes of an operator need.
#[derive(Clone)]
pub struct Ops {
    /// Whether the node can work.
    pub readiness: Arc<Readiness>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Where the metrics that are no counts come from.
    pub observed: Arc<dyn Observed>,
    /// Who may read the metrics.
    pub readers: Arc<Readers>,
}

impl FromRef<Ops> for Arc<Readiness> {
    fn from_ref(ops: &Ops) -> Self {
        ops.readiness.clone()
    }
}

/// `/healthz`, `/readyz` and `/metrics`.
pub fn routes(ops: Ops) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(ops)
}

/// The body of a good answer.
#[derive(Serialize)]
struct Condition {
    status: &'static str,
}

async fn healthz() -> Json<Condition> {
    Json(Condition { status: "ok" })
}

/// 503 names the checks that failed and nothing of their causes, which stand in the log.
async fn readyz(State(readiness): State<Arc<Readiness>>) -> Result<Json<Condition>, Refusal> {
    let failed = readiness.failed().await;
    if failed.is_empty() {
        return Ok(Json(Condition { status: "ready" }));
    }
    let message = format!("not ready: {}", failed.join(", "));
    Err(ApiError::new(Code::ServiceUnavailable, message).retry_after(1).into())
}

async fn scrape(
    State(ops): State<Ops>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let peer = peer.map(|Extension(Peer(address))| address).as_ref().map(SocketAddr::ip);
    match ops.readers.access(peer, &headers) {
        Access::Granted => {}
        Access::Hidden => return Err(ApiError::not_found().into()),
        Access::Denied => return Err(denied(headers.contains_key(header::AUTHORIZATION)).into()),
    }
    let form = Form::wanted(&headers);
    let text = ops.metrics.render(&*ops.observed, form).await;
    let content_type = HeaderValue::from_static(form.content_type());
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}

fn denied(came_with_one: bool) -> ApiError {
    let code = if came_with_one { Code::InvalidApiKey } else { Code::MissingApiKey };
    ApiError::new(code, "the metrics need `Authorization: Bearer <server.metrics_token>`")
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// A layer (`axum::middleware::from_fn_with_state`) that counts requests under way.
pub(crate) async fn count_in_flight(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let _under_way = metrics.http().enter();
    next.run(request).await
}

#[cfg(test)]
mod tests;
