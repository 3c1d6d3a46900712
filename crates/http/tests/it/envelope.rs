//! Tests that every error has the same form, and of the headers that every response has.

use std::collections::BTreeSet;
use std::time::Duration;

use probity_http::edge::shell::ShellConfig;

use crate::served::{Limits, Served};

#[tokio::test]
async fn errors_have_the_envelope_wherever_they_arise() {
    let served = Served::start().await;
    let cases = [
        ("/unknown", 404, "not_found", "not_found_error"),
        ("/", 404, "not_found", "not_found_error"),
        ("/v1/things?timeout=x", 400, "invalid_request", "invalid_request_error"),
        ("/ignore", 405, "method_not_allowed", "invalid_request_error"),
        // Rejections and errors of the framework itself.
        ("/numbers/x", 400, "invalid_request", "invalid_request_error"),
        ("/numbers/%ff", 400, "invalid_request", "invalid_request_error"),
        ("/teapot", 400, "invalid_request", "invalid_request_error"),
        ("/broken", 500, "server_error", "api_error"),
        ("/panic", 500, "server_error", "api_error"),
    ];
    for (target, status, code, kind) in cases {
        let message = served.get(target).await.assert_error(status, code, kind);
        assert!(!message.contains("fire") && !message.contains("canary"), "inner details are not shown: {message}");
    }
}

#[tokio::test]
async fn good_answers_carry_the_common_headers_and_a_name_of_their_own() {
    let served = Served::start().await;
    let mut names = BTreeSet::new();
    for _ in 0..3 {
        let answer = served.ask("GET /id HTTP/1.1\r\nhost: x\r\nx-request-id: req_mine\r\n\r\n").await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
        assert_eq!(answer.assert_common(), answer.body, "the handler sees the same name");
        names.insert(answer.body);
    }
    assert_eq!(names.len(), 3);
    assert_eq!(served.get("/cached").await.header("cache-control"), Some("max-age=60"));
}

/// RFC 9112 §3.2: a request names exactly one host.
#[tokio::test]
async fn a_request_names_one_host() {
    let served = Served::start().await;
    let ask = async |version: &str, fields: &str| served.ask(&format!("GET /id {version}\r\n{fields}\r\n")).await;
    for (version, fields) in [
        ("HTTP/1.1", ""),
        ("HTTP/1.1", "host: a\r\nhost: a\r\n"),
        ("HTTP/1.0", "host: a\r\nhost: b\r\n"),
        ("HTTP/1.1", "host: a b\r\n"),
        ("HTTP/1.1", "host: a/b\r\n"),
        ("HTTP/1.1", "host: http://a\r\n"),
        ("HTTP/1.0", "host: \u{e4}\r\n"),
        ("HTTP/1.1", "host: a:80:80\r\n"),
        ("HTTP/1.1", "host: a:port\r\n"),
        ("HTTP/1.1", "host: jo@a\r\n"),
    ] {
        let answer = ask(version, fields).await;
        let message = answer.assert_error(400, "invalid_request", "invalid_request_error");
        assert!(message.contains("Host"), "{version} {fields:?}: {message}");
    }
    for (version, fields) in [
        ("HTTP/1.0", ""),
        ("HTTP/1.0", "host: a\r\n"),
        ("HTTP/1.1", "host:\r\n"),
        ("HTTP/1.1", "HOST: Probity.Example:8080\r\n"),
        ("HTTP/1.1", "host: [::1]:8080\r\n"),
        ("HTTP/1.1", "host: a_b.internal\r\n"),
    ] {
        assert_eq!(ask(version, fields).await.status, 200, "{version} {fields:?}");
    }
}

#[tokio::test]
async fn paths_are_never_mended() {
    let served = Served::start().await;
    assert_eq!(served.get("/v1/things/a%20b").await.body, r#"{"name":"a b"}"#);
    for target in [
        "/v1/things/",
        "/v1/things/a/",
        "//v1/things",
        "/v1//things",
        "/v1/../v1/things",
        "/V1/things",
        "/v1%2Fthings",
        "/%761/things",
        "/v1/things/a%2Fb",
        "/v1/things/a/../b",
    ] {
        served.get(target).await.assert_error(404, "not_found", "not_found_error");
    }
}

#[tokio::test]
async fn wrong_methods_are_told_the_right_ones() {
    let served = Served::start().await;
    for method in ["DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let answer = served.ask(&format!("{method} /v1/things HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        answer.assert_error(405, "method_not_allowed", "invalid_request_error");
        let allowed: BTreeSet<&str> = answer.header("allow").unwrap().split(',').collect();
        assert_eq!(allowed, BTreeSet::from(["GET", "HEAD", "POST"]));
    }
    let everything = served.ask("OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n").await;
    everything.assert_error(404, "not_found", "not_found_error");
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let served = Served::start().await;
    let mut client = served.connect().await;
    for (target, status) in [("/id", 200), ("/unknown", 404), ("/broken", 500), ("/ignore", 405)] {
        client.send(format!("HEAD {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await;
        let answer = client.answer(true).await;
        assert_eq!(answer.status, status, "{target}");
        answer.assert_common();
        let length: usize = answer.header("content-length").unwrap().parse().unwrap();
        assert!(length > 0, "the length that GET would have");
    }
    // If HEAD had sent a body, it would precede this response.
    client.send(b"GET /v1/things/last HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(client.answer(false).await.body, r#"{"name":"last"}"#);
}

/// A `Content-Length`, if sent, is that of GET's body (RFC 9110 §8.6).
#[tokio::test]
async fn no_length_is_sent_where_it_is_not_known() {
    let served = Served::start().await;
    let mut client = served.connect().await;
    for request in ["HEAD /streamed", "HEAD /unchanged", "GET /unchanged"] {
        client.send(format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await;
        let answer = client.answer(true).await;
        assert_eq!(answer.header("content-length"), None, "{request}");
    }
    client.send(b"GET /v1/things/last HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(client.answer(false).await.body, r#"{"name":"last"}"#);
}

#[tokio::test]
async fn a_route_that_takes_too_long_is_a_503_that_may_be_tried_again() {
    let shell = ShellConfig { deadline: Duration::from_millis(30), ..ShellConfig::default() };
    let served = Served::with(Limits { shell, ..Limits::default() }).await;
    let answer = served.get("/never").await;
    let message = answer.assert_error(503, "service_unavailable", "api_error");
    assert!(message.contains("timed out"), "{message}");
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_time_in_which_a_body_arrives_is_not_the_routes() {
    let shell = ShellConfig { deadline: Duration::from_millis(40), ..ShellConfig::default() };
    let served = Served::with(Limits { shell, ..Limits::default() }).await;
    let mut client = served.connect().await;
    client.send(b"POST /raw HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n").await;
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        client.send(b"x").await;
    }
    let answer = client.answer(false).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "5"));
}
