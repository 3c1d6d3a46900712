//! Clients that are slow, many, huge or sly.

use std::io::ErrorKind;
use std::time::Duration;

use probity_server::listen::ListenConfig;
use tokio::time::sleep;

use crate::served::{BIG, Client, Limits, Served};

const SHORT: Duration = Duration::from_millis(200);
const GET: &[u8] = b"GET /v1/things/a HTTP/1.1\r\nhost: x\r\n\r\n";

async fn with(listen: ListenConfig) -> Served {
    Served::with(Limits { listen, ..Limits::default() }).await
}

/// Sends a byte now and then until the server closes.
async fn drip(mut client: Client, bytes: &[u8]) -> String {
    for byte in bytes {
        client.send(&[*byte]).await;
        sleep(SHORT / 20).await;
    }
    client.until_closed().await
}

#[tokio::test]
async fn slow_header_sections_are_cut_however_they_drip() {
    let served = with(ListenConfig { header_timeout: SHORT, ..ListenConfig::default() }).await;
    let endless = format!("GET / HTTP/1.1\r\nhost: x\r\n{}", "a: b\r\n".repeat(10));
    assert_eq!(drip(served.connect().await, endless.as_bytes()).await, "");
    assert_eq!(drip(served.connect().await, b"PRI * HTTP/2.0\r\n").await, "", "half a preface of HTTP/2");
    assert_eq!(served.connect().await.until_closed().await, "", "not a single byte");
    // The second request of a connection has no more time than the first.
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    assert_eq!(drip(client, endless.as_bytes()).await, "");
}

#[tokio::test]
async fn idling_between_requests_has_a_limit_of_its_own() {
    let served = with(ListenConfig { header_timeout: SHORT, ..ListenConfig::default() }).await;
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    sleep(2 * SHORT).await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200, "idling is no slow header section");

    let served = with(ListenConfig { idle_timeout: SHORT, ..ListenConfig::default() }).await;
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    assert_eq!(client.until_closed().await, "");
}

#[tokio::test]
async fn who_does_not_take_the_answer_is_cut() {
    let limits = ListenConfig { stall_timeout: SHORT, connections_max: 1, ..ListenConfig::default() };
    let served = with(limits).await;
    let mut client = served.connect().await;
    client.send(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n").await;
    client.stream.readable().await.unwrap();
    // There is room for one connection: whoever comes next is answered when this one is cut.
    assert_eq!(served.ask(std::str::from_utf8(GET).unwrap()).await.status, 200);
    let all = client.until_closed().await;
    assert!(all.starts_with("HTTP/1.1 200 ") && all.len() < BIG, "{} bytes", all.len());
    // Who takes it gets all of it.
    assert_eq!(Served::start().await.get("/big").await.body.len(), BIG);
}

#[tokio::test]
async fn connections_over_the_limit_wait_for_a_place() {
    let served = with(ListenConfig { connections_max: 100, ..ListenConfig::default() }).await;
    let mut clients = Vec::new();
    for _ in 0..100 {
        let mut client = served.connect().await;
        client.send(GET).await;
        assert_eq!(client.answer(false).await.status, 200);
        clients.push(client);
    }
    let mut waiting = served.connect().await;
    waiting.send(GET).await;
    for client in &mut clients {
        client.send(GET).await;
        assert_eq!(client.answer(false).await.status, 200);
    }
    let early = waiting.stream.try_read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(
        early,
        Err(ErrorKind::WouldBlock),
        "the hundred and first waits, while a hundred others are answered again"
    );
    drop(clients.pop());
    assert_eq!(waiting.answer(false).await.status, 200);
}

#[tokio::test]
async fn huge_header_sections_are_a_431() {
    let served = Served::start().await;
    let value = |length: usize| format!("GET /id HTTP/1.1\r\nhost: x\r\na: {}\r\n\r\n", "b".repeat(length));
    let fields = |count: usize| format!("GET /id HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(count - 1));
    let target = |length: usize| format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "b".repeat(length));
    assert_eq!(served.ask(&value(16_000)).await.status, 200);
    assert_eq!(served.ask(&fields(100)).await.status, 200);
    assert_eq!(served.ask(&target(16_000)).await.status, 404);
    for huge in [value(17_000), fields(101), target(17_000), value(100_000)] {
        let mut client = served.connect().await;
        client.send(huge.as_bytes()).await;
        let all = client.until_closed().await;
        assert!(all.starts_with("HTTP/1.1 431 "), "{all}");
    }
}

#[tokio::test]
async fn nothing_is_smuggled_behind_an_ambiguous_length() {
    let served = Served::start().await;
    let smuggled = "GET /v1/things/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    let ambiguous = [
        format!("content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("content-length: 0\r\ncontent-length: 4\r\n\r\n{smuggled}"),
        format!("content-length: 0, 4\r\n\r\n{smuggled}"),
        format!("content-length: +0\r\n\r\n{smuggled}"),
        format!("content-length: 0x0\r\n\r\n{smuggled}"),
        format!("transfer-encoding: identity\r\n\r\n{smuggled}"),
        format!("transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("transfer-encoding: xchunked\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("content-length : 0\r\n\r\n{smuggled}"),
        format!("a: b\r\n content-length: 4\r\n\r\n{smuggled}"),
        format!("\u{b}transfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"),
    ];
    for rest in ambiguous {
        let mut client = served.connect().await;
        client.send(format!("POST /raw HTTP/1.1\r\nhost: x\r\n{rest}").as_bytes()).await;
        let all = client.until_closed().await;
        assert!(!all.contains("smuggled") && all.matches("HTTP/1.1 ").count() <= 1, "{rest:?}: {all}");
    }
    // With one clear length the second request is one of its own.
    let mut client = served.connect().await;
    client.send(format!("POST /raw HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab{smuggled}").as_bytes()).await;
    assert_eq!(client.answer(false).await.body, "2");
    assert_eq!(client.answer(false).await.body, r#"{"name":"smuggled"}"#);
}

#[tokio::test]
async fn an_unread_body_never_becomes_the_next_request() {
    let served = Served::start().await;
    let body = "GET /v1/things/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut client = served.connect().await;
    let length = body.len();
    let head = format!("POST /ignore HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    client.send(format!("{head}{body}").as_bytes()).await;
    let all = client.until_closed().await;
    assert!(all.ends_with("ignored") && !all.contains("smuggled"), "{all}");
}
