//! The routes of an operator, inside the shell.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::future::BoxFuture;
use http_body_util::BodyExt as _;
use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_service::ops::log::capture::Capture;
use probity_service::ops::metrics::{Gauges, Start};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::*;
use crate::shell::{ShellConfig, shell};

struct Nothing;

impl Observed for Nothing {
    fn look(&self) -> BoxFuture<'_, Gauges> {
        Box::pin(std::future::ready(Gauges::default()))
    }
}

struct Node {
    router: Router,
    broken: Arc<AtomicBool>,
    closing: CancellationToken,
}

fn node(token: Option<&str>) -> Node {
    let (broken, closing, clock) = (Arc::new(AtomicBool::new(false)), CancellationToken::new(), Clock::system());
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
        observed: Arc::new(Nothing),
        readers: Arc::new(Readers::new(token.map(Into::into))),
    };
    let counted = routes(ops).layer(axum::middleware::from_fn_with_state(metrics.clone(), count_in_flight));
    let config = ShellConfig { observer: Some(metrics.observer()), ..ShellConfig::default() };
    Node { router: shell(counted, config, clock), broken, closing }
}

impl Node {
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
    assert_eq!((status, &headers["retry-after"]), (StatusCode::SERVICE_UNAVAILABLE, &HeaderValue::from_static("1")));
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
