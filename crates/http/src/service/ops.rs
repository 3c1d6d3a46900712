//! Operator routes: `/healthz`, `/readyz` and `/metrics`, next to the API and without a key.
//!
//! - Liveness checks nothing: a process that responds is alive, and restarting it would not repair a database.
//! - Readiness checks the parts that every request needs. The result is cached, so that requests cannot load the database.
//! - Metrics are restricted to their readers ([`Readers`]).

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use probity_backend::nodes::health::Readiness;
use probity_contract::error::{ApiError, Code};
use probity_telemetry::metrics::{ExpositionForm, Metrics, MetricsAccess, Observed, Readers};
use serde::Serialize;

use crate::callers::auth::bearer;
use crate::edge::peer::Peer;
use crate::handler::{Answer, Refusal};

/// State of the operator routes.
#[derive(Clone)]
pub struct Ops {
    /// Readiness checks of the node.
    pub readiness: Arc<Readiness>,
    /// Metrics of the process.
    pub metrics: Arc<Metrics>,
    /// Source of the metrics that are states rather than counts.
    pub observed: Arc<dyn Observed>,
    /// Readers that have access to the metrics.
    pub readers: Arc<Readers>,
}

/// Builds the operator routes.
pub fn routes(ops: Ops) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(ops)
}

/// Body of a success.
#[derive(Serialize)]
struct ServiceCondition {
    status: &'static str,
}

async fn healthz() -> Json<ServiceCondition> {
    Json(ServiceCondition { status: "ok" })
}

/// Reports readiness. A 503 names the failed checks; their causes are only in the log.
async fn readyz(State(ops): State<Ops>) -> Answer<ServiceCondition> {
    let failed = ops.readiness.failed().await;
    if failed.is_empty() {
        return Ok(Json(ServiceCondition { status: "ready" }));
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
    match ops.readers.access(peer, &headers, bearer(&headers).as_deref()) {
        MetricsAccess::Granted => {}
        MetricsAccess::Hidden => return Err(ApiError::not_found().into()),
        MetricsAccess::Denied => return Err(denied(headers.contains_key(header::AUTHORIZATION)).into()),
    }
    let form = ExpositionForm::wanted(&headers);
    let text = ops.metrics.render(&*ops.observed, form).await;
    let content_type = HeaderValue::from_static(form.content_type());
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}

fn denied(came_with_one: bool) -> ApiError {
    let code = if came_with_one { Code::InvalidApiKey } else { Code::MissingApiKey };
    ApiError::new(code, "the metrics need `Authorization: Bearer <server.metrics_token>`")
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// Counts requests in flight; a layer for `axum::middleware::from_fn_with_state`.
pub(crate) async fn count_in_flight(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let _under_way = metrics.http().enter();
    next.run(request).await
}

/// Tests of the operator routes, inside the shell.
#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicBool, Ordering};

    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use futures_util::future::BoxFuture;
    use http_body_util::BodyExt as _;
    use probity_engine::clock::EngineClock;
    use probity_mail::time::Millis;
    use probity_telemetry::log_capture::Capture;
    use probity_telemetry::metrics::{Gauges, Start};
    use tokio_util::sync::CancellationToken;
    use tower::ServiceExt as _;

    use super::*;
    use crate::edge::shell::{ShellConfig, shell};

    struct NoParts;

    impl Observed for NoParts {
        fn look(&self) -> BoxFuture<'_, Gauges> {
            Box::pin(std::future::ready(Gauges::default()))
        }
    }

    struct NodeView {
        router: Router,
        broken: Arc<AtomicBool>,
        closing: CancellationToken,
    }

    fn node(token: Option<&str>) -> NodeView {
        let (broken, closing, clock) =
            (Arc::new(AtomicBool::new(false)), CancellationToken::new(), EngineClock::system());
        let state = broken.clone();
        let readiness = Readiness::new(clock, closing.clone()).check("database", move || {
            let broken = state.load(Ordering::Relaxed);
            Box::pin(async move { if broken { Err("postgres://user:password@host".into()) } else { Ok(()) } })
        });
        let start = Start { version: "1", at: Millis(0), providers: std::collections::BTreeSet::default() };
        let metrics = Arc::new(Metrics::new(&start));
        let ops = Ops {
            readiness: Arc::new(readiness),
            metrics: metrics.clone(),
            observed: Arc::new(NoParts),
            readers: Arc::new(Readers::new(token.map(Into::into))),
        };
        let counted = routes(ops).layer(axum::middleware::from_fn_with_state(metrics.clone(), count_in_flight));
        let config = ShellConfig { observer: Some(metrics.observer()), ..ShellConfig::default() };
        NodeView { router: shell(counted, config, clock), broken, closing }
    }

    impl NodeView {
        async fn get(&self, path: &str, peer: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, String) {
            let peer: SocketAddr = format!("{peer}:4711").parse().unwrap();
            let mut request = Request::get(path).header("host", "localhost").extension(Peer(peer));
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let answer = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let (parts, body) = answer.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_part_makes_a_node_unready_and_not_dead() {
        let node = node(None);
        let (status, _, body) = node.get("/readyz", "203.0.113.7", &[]).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, r#"{"status":"ready"}"#));
        node.broken.store(true, Ordering::Relaxed);
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        let (status, headers, body) = node.get("/readyz", "203.0.113.7", &[]).await;
        assert_eq!(
            (status, &headers["retry-after"]),
            (StatusCode::SERVICE_UNAVAILABLE, &HeaderValue::from_static("1"))
        );
        assert!(body.contains(r#""code":"service_unavailable""#) && body.contains("not ready: database"), "{body}");
        assert!(!body.contains("postgres"), "{body}");
        node.closing.cancel();
        let (_, _, body) = node.get("/readyz", "203.0.113.7", &[]).await;
        assert!(body.contains("not ready: shutdown"), "{body}");
        let (status, _, body) = node.get("/healthz", "203.0.113.7", &[]).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, r#"{"status":"ok"}"#));
    }

    #[tokio::test]
    async fn metrics_are_shown_to_those_who_may_read_them() {
        let open = node(None);
        let (status, headers, body) = open.get("/metrics", "127.0.0.1", &[]).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        assert!(body.contains("probity_http_requests_in_flight 1\n"), "this very request:\n{body}");
        let (_, _, body) = open.get("/metrics", "127.0.0.1", &[]).await;
        assert!(
            body.contains("probity_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"200\"} 1\n"),
            "{body}"
        );
        let accept = [("accept", "application/openmetrics-text; version=1.0.0")];
        let (_, headers, body) = open.get("/metrics", "127.0.0.1", &accept).await;
        assert_eq!(headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(body.ends_with("# EOF\n"));
        let (status, _, hidden) = open.get("/metrics", "203.0.113.7", &[]).await;
        let (_, _, unknown) = open.get("/nothing", "203.0.113.7", &[]).await;
        let without_id = |body: &str| body.split("request_id").next().map(str::to_owned);
        assert_eq!((status, without_id(&hidden)), (StatusCode::NOT_FOUND, without_id(&unknown)));
    }

    #[tokio::test]
    async fn a_configured_token_is_asked_for() {
        let node = node(Some("t0ken"));
        let (status, headers, body) = node.get("/metrics", "127.0.0.1", &[]).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert_eq!(headers["www-authenticate"], "Bearer");
        assert!(body.contains("missing_api_key"), "{body}");
        let (status, _, body) = node.get("/metrics", "127.0.0.1", &[("authorization", "Bearer wrong")]).await;
        assert!(status == StatusCode::UNAUTHORIZED && body.contains("invalid_api_key"), "{body}");
        let (status, ..) = node.get("/metrics", "203.0.113.7", &[("authorization", "Bearer t0ken")]).await;
        assert_eq!(status, StatusCode::OK);
    }

    #[tokio::test(start_paused = true)]
    async fn neither_addresses_nor_tokens_nor_queries_are_logged() {
        let (capture, guard) = Capture::start(tracing_subscriber::filter::LevelFilter::TRACE);
        let node = node(Some("canary-token"));
        let given = [("authorization", "Bearer canary-given"), ("x-forwarded-for", "203.0.113.99")];
        for path in ["/metrics", "/readyz", "/healthz", "/canary-path"] {
            node.get(&format!("{path}?email=canary@leak.example"), "203.0.113.98", &given).await;
        }
        drop(guard);
        assert_eq!(capture.text().lines().filter(|line| line.contains("probity_http::access")).count(), 4);
        let canaries =
            ["canary@leak.example", "canary-token", "canary-given", "canary-path", "203.0.113.98", "203.0.113.99"];
        capture.assert_without(&canaries);
    }
}
