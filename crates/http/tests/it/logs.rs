//! Tests of the log: its lines about requests, and that it contains no secrets.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use probity_http::edge::shell::ShellConfig;
use probity_telemetry::log::panics;
use probity_telemetry::log_capture::heed_threads;
use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

use crate::served::{Limits, Served};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn lines(&self, target: &str) -> Vec<Value> {
        let lines = self.text();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["target"] == target).collect()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Captures the log of this thread, on which all tasks of a test run.
fn capture() -> (Captured, tracing::subscriber::DefaultGuard) {
    heed_threads();
    let captured = Captured::default();
    let subscriber =
        tracing_subscriber::fmt().json().with_max_level(tracing::Level::TRACE).with_writer(captured.clone());
    let guard = tracing::subscriber::set_default(subscriber.finish());
    (captured, guard)
}

#[tokio::test]
async fn one_line_a_request_with_the_route_and_no_content() {
    let (captured, _guard) = capture();
    let served = Served::start().await;
    let found = served.get("/v1/things/canary-path?email=canary-query@example.com&api_key=canary-key").await;
    let lost = served
        .ask("CANARY /canary/path HTTP/1.1\r\nhost: canary-host\r\nauthorization: Bearer canary-token\r\n\r\n")
        .await;
    let lines = captured.lines("probity_http::access");
    let fields = |line: &Value| {
        let fields = &line["fields"];
        assert!(fields["duration_ms"].as_f64().is_some_and(|ms| (0.0..60_000.0).contains(&ms)), "{line}");
        let [method, route, id] =
            ["method", "route", "request_id"].map(|name| fields[name].as_str().unwrap().to_owned());
        (method, route, fields["status"].as_u64().unwrap(), fields["bytes"].as_u64().unwrap(), id)
    };
    let bytes = |answer: &crate::served::Answer| u64::try_from(answer.body.len()).unwrap();
    let expected = [
        ("GET".to_owned(), "/v1/things/{id}".to_owned(), 200, bytes(&found), found.assert_common()),
        ("OTHER".to_owned(), "none".to_owned(), 404, bytes(&lost), lost.assert_common()),
    ];
    assert_eq!(lines.iter().map(fields).collect::<Vec<_>>(), expected);
    assert!(lines.iter().all(|line| line["level"] == "INFO" && line["fields"]["message"] == "request answered"));
    let ours = captured.text().lines().filter(|line| line.contains("probity_")).collect::<String>();
    assert!(!ours.to_lowercase().contains("canary") && !ours.contains("127.0.0.1"), "{ours}");
}

#[tokio::test]
async fn the_detail_of_an_error_is_logged_once_with_the_requests_name() {
    let (captured, _guard) = capture();
    let served = Served::start().await;
    let id = served.get("/broken").await.assert_common();
    let lines = captured.lines("probity_http::edge::shell");
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(line["fields"]["detail"], "the disk is on fire");
    assert_eq!((&line["level"], &line["span"]["request_id"]), (&"ERROR".into(), &id.into()));
}

#[tokio::test]
async fn a_panic_is_logged_by_its_place_and_without_its_message() {
    let (captured, _guard) = capture();
    let before = std::panic::take_hook();
    panics();
    let served = Served::start().await;
    let id = served.get("/panic").await.assert_common();
    std::panic::set_hook(before);
    let lines = ["probity_telemetry::log", "probity_http::edge::shell"].map(|target| captured.lines(target)).concat();
    assert!(lines.iter().all(|line| line["span"]["request_id"] == *id), "{lines:?}");
    assert!(lines.iter().any(|line| line["fields"]["place"].as_str().is_some_and(|place| place.contains("served.rs"))));
    assert!(!captured.text().contains("canary in a panic"));
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_a_line_too() {
    let (captured, _guard) = capture();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observer = {
        let seen = Arc::clone(&seen);
        Arc::new(move |answered: &probity_telemetry::metrics::AnsweredRequest<'_>| {
            seen.lock().unwrap().push((answered.method, answered.route.to_owned(), answered.status));
        })
    };
    let shell = ShellConfig { observer: Some(observer), ..ShellConfig::default() };
    let served = Served::with(Limits { shell, ..Limits::default() }).await;
    let mut client = served.connect().await;
    client.send(b"GET /id HTTP/1.1\r\nhost: x\r\n\r\nGET /never HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(client.answer(false).await.status, 200);
    drop(client);
    served.stop.cancel();
    served.stopped().await;
    let expected = [("GET", "/id".to_owned(), 200), ("GET", "/never".to_owned(), 499)];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(captured.lines("probity_http::access").len(), 2);
}
