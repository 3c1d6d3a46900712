//! Requests, responses, and the reuse of connections.

use std::time::Duration;

use probity_telemetry::metrics::{ExpositionForm, Gauges, Observed};

use super::server::{Scripted, ServerMove, closed};
use super::*;

fn ok() -> ServerMove {
    ServerMove::json(200, r#"{"name": "Acme"}"#)
}

#[tokio::test]
async fn a_request_has_these_fields_and_no_others() {
    let mut server = Scripted::start(vec![ok()]).await;
    let trial = Trial::new("", &[server.address]);
    let mut post = request(Method::Post, &server.url("/a%2Fb?x=%5B1%5D"));
    post.headers.push(("Key".into(), "k".into()));
    trial.platforms.send(&trial.account(), &post).await.unwrap();
    let mut patch = request(Method::Patch, &server.url("/p"));
    patch.headers.extend([("User-Agent".into(), "mine".into()), ("Connection".into(), "close".into())]);
    patch.body = Some(b"{}".to_vec());
    trial.platforms.send(&trial.account(), &patch).await.unwrap();
    let lines = |text: &str| {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines: Vec<_> = head.lines().map(str::to_owned).collect();
        lines[1..].sort();
        (lines, body.to_owned())
    };
    let requests = server.requests();
    let host = format!("host: {}", server.address);
    let agent = format!("user-agent: {}", concat!("Probity/", env!("CARGO_PKG_VERSION")));
    let expected = [
        "POST /a%2Fb?x=%5B1%5D HTTP/1.1",
        "accept-encoding: identity",
        "accept: application/json",
        "content-length: 0",
    ];
    let expected: Vec<String> =
        expected.map(str::to_owned).into_iter().chain([host.clone(), "key: k".into(), agent]).collect();
    assert_eq!(lines(&requests[0]), (expected, String::new()));
    let expected = ["PATCH /p HTTP/1.1", "accept-encoding: identity", "accept: application/json", "content-length: 2"];
    let expected: Vec<String> =
        expected.map(str::to_owned).into_iter().chain([host, "user-agent: mine".into()]).collect();
    assert_eq!(lines(&requests[1]), (expected, "{}".to_owned()));
}

#[tokio::test]
async fn an_answer_comes_as_it_is() {
    let body = r#"{"a": 1}"#;
    let server =
        Scripted::start(vec![ServerMove::with_headers(207, "X-One: 1\r\nx-one: 2\r\nLink: <a>\r\n", body)]).await;
    let trial = Trial::new("", &[server.address]);
    let response = trial.get(&server.url("/")).await.unwrap();
    let headers: Vec<_> = response.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(headers, [("x-one", "1"), ("x-one", "2"), ("link", "<a>"), ("content-length", "8")]);
    assert_eq!((response.status, response.body.as_slice(), response.is_cut), (207, body.as_bytes(), false));
}

#[tokio::test]
async fn what_has_no_account_is_fetched_within_a_size() {
    let mut server =
        Scripted::start(vec![ServerMove::json(200, "certificate"), ServerMove::json(200, "too long")]).await;
    let trial = Trial::new("", &[server.address]);
    let fetched = trial.platforms.fetch(&server.url("/a.pem"), 20).await.unwrap();
    assert_eq!((fetched.status, fetched.body.as_slice(), fetched.is_cut), (200, &b"certificate"[..], false));
    assert!(trial.platforms.fetch(&server.url("/a.pem"), 7).await.unwrap().is_cut);
    assert!(server.requests()[0].starts_with("GET /a.pem HTTP/1.1"));
}

#[tokio::test]
async fn calls_with_a_key_share_a_connection_and_others_have_their_own() {
    let server = Scripted::start(vec![ok()]).await;
    let trial = Trial::new("", &[server.address]);
    for _ in 0..20 {
        trial.get(&server.url("/me")).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
    for (account, key, connections) in [(b"account", b"two", 2), (b"another", b"six", 3), (b"another", b"two", 3)] {
        let other = trial.platforms.budget(trial.file(), account, key);
        trial.platforms.send(&other, &request(Method::Get, &server.url("/me"))).await.unwrap();
        assert_eq!(server.connections(), connections);
    }
    assert_eq!(trial.platforms.0.client.kept(), 3);
}

#[tokio::test]
async fn as_many_calls_at_a_time_as_the_file_allows() {
    let slow = ServerMove::Slowly(Duration::from_millis(20), "HTTP/1.1 204 x\r\n\r\n".into());
    let server = Scripted::start(vec![slow]).await;
    let trial = Trial::new("[rate]\nconcurrency = 4", &[server.address]);
    let url = server.url("/");
    let answers = futures_util::future::join_all((0..40).map(|_| trial.get(&url))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn connections_are_kept_for_seconds_only() {
    let server = Scripted::start(vec![ok()]).await;
    let trial = Trial::new("", &[server.address]);
    trial.get(&server.url("/me")).await.unwrap();
    assert_eq!(trial.platforms.0.client.kept(), 1);
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(trial.platforms.0.client.kept(), 0);
    tokio::time::resume();
    trial.get(&server.url("/me")).await.unwrap();
    assert_eq!(server.connections(), 2);
}

/// The platform closes a kept connection at the moment of the next request.
#[tokio::test]
async fn a_request_that_meets_the_end_of_a_connection_is_repeated_if_it_may_be() {
    let mut server = Scripted::start(vec![ok(), ServerMove::Close(String::new()), ok()]).await;
    let trial = Trial::new("", &[server.address]);
    trial.get(&server.url("/1")).await.unwrap();
    trial.get(&server.url("/2")).await.unwrap();
    assert_eq!((server.connections(), server.requests().len()), (2, 3));

    let mut server = Scripted::start(vec![ok(), ServerMove::Close(String::new()), ok()]).await;
    let trial = Trial::new("", &[server.address]);
    trial.get(&server.url("/1")).await.unwrap();
    let post = request(Method::Post, &server.url("/2"));
    let answer = trial.platforms.send(&trial.account(), &post).await;
    assert_eq!(answer, Err(fault(CallCause::Broken, true)), "nobody knows whether it was done");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_test_says_what_is_wrong() {
    let page = ServerMove::with_headers(200, "content-type: text/html\r\n", "<html>Sign in</html>");
    let server = Scripted::start(vec![
        ok(),
        ServerMove::json(401, r#"{"message": "no such key hush-hush-hush"}"#),
        page,
        ServerMove::json(503, "{}"),
    ])
    .await;
    let trial = Trial::new("", &[server.address]);
    let url = server.url("");
    assert_eq!(trial.test(&url).await, TestOutcome::Valid { account: Some("Acme".into()) });
    let wrong = |field: &str, message: &str| TestOutcome::Wrong { fields: vec![field.into()], message: message.into() };
    assert_eq!(trial.test(&url).await, wrong("key", "Looped answered 401: no such key (redacted)"));
    assert_eq!(trial.test(&url).await, wrong("url", "Looped answered 200: the answer is a web page"));
    assert!(matches!(trial.test(&url).await, TestOutcome::Failed(fault) if fault.class == ErrorClass::Transient));
    let (_socket, refusing) = closed();
    let trial = Trial::new("", &[refusing]);
    let outcome = trial.test(&format!("http://{refusing}")).await;
    assert_eq!(outcome, wrong("url", "the host of Looped accepts no connection"));
    let outcome = Trial::new("", &[]).test("https://nowhere.example.org").await;
    assert_eq!(outcome, wrong("url", "the host of Looped was not found"));
}

#[tokio::test]
async fn lists_are_read_to_the_end() {
    let page = |ids: &str, next: &str| ServerMove::json(200, &format!(r#"{{"lists": [{ids}], "next": {next}}}"#));
    let mut server = Scripted::start(vec![
        page(r#"{"id": 1, "name": "One"}, {"id": 2, "name": "Two"}"#, "\"t2\""),
        page(r#"{"id": 3, "name": "Three"}"#, "null"),
        ServerMove::json(500, "{}"),
    ])
    .await;
    let trial = Trial::new("", &[server.address]);
    let credentials = trial.credentials(&server.url(""));
    let lists = trial.platforms.lists(trial.file(), &credentials, &trial.account()).await.unwrap();
    assert_eq!(lists.iter().map(|list| list.name.as_str()).collect::<Vec<_>>(), ["One", "Two", "Three"]);
    assert!(server.requests()[1].starts_with("GET /lists?after=t2 "));
    let fault = trial.platforms.lists(trial.file(), &credentials, &trial.account()).await.unwrap_err();
    assert_eq!((fault.class, fault.status), (ErrorClass::Transient, 500));
}

struct Nothing;

impl Observed for Nothing {
    fn look(&self) -> futures_util::future::BoxFuture<'_, Gauges> {
        Box::pin(std::future::ready(Gauges::default()))
    }
}

#[tokio::test]
async fn a_wait_that_a_platform_asks_for_is_told_to_other_nodes() {
    let server = Scripted::start(vec![ok(), ServerMove::with_headers(429, "Retry-After: 3600\r\n", "{}")]).await;
    let trial = Trial::new("", &[server.address]);
    let told = || trial.buckets.pauses.lock().unwrap().values().copied().collect::<Vec<_>>();
    trial.get(&server.url("/contacts")).await.unwrap();
    assert_eq!(told(), []);
    let throttled = trial.get(&server.url("/contacts")).await.unwrap();
    assert_eq!(told(), [throttled.at + 3_600_000]);
}

#[tokio::test]
async fn metrics_count_by_platform_and_show_nothing_else() {
    let server = Scripted::start(vec![ok(), ServerMove::with_headers(429, "Retry-After: 3600\r\n", "{}")]).await;
    let trial = Trial::new("", &[server.address]);
    trial.test(&server.url("")).await;
    trial.test(&server.url("")).await;
    assert_eq!(
        trial.get("https://nowhere.example.org/?e=ann%40example.org").await.unwrap_err().cause,
        CallCause::Later
    );
    let text = trial.metrics.render(&Nothing, ExpositionForm::Plain).await;
    let ours: Vec<_> = text.lines().filter(|line| line.starts_with("probity_platform_calls_total")).collect();
    assert_eq!(ours.len(), 3, "{ours:?}");
    for outcome in ["ok", "throttled", "later"] {
        let line = format!("probity_platform_calls_total{{platform=\"looped\",outcome=\"{outcome}\"}} 1");
        assert!(ours.contains(&line.as_str()), "{ours:?}");
    }
    assert!(!text.contains("hush") && !text.contains("127.0.0.1") && !text.contains("example.org"));
}
